#include "cli/argparse.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "cli/commands.h"
#include "run/words.h"

namespace lockstep::cli {
namespace {

/// Returns the flag that starts with `beginning`, or `beginning` itself if there is
/// none. Throws UsageError if it is ambiguous.
std::string whole_flag(const CLI::App& command, const std::string& beginning) {
  if (command.get_option_no_throw(beginning)) return beginning;
  std::set<const CLI::Option*> found;
  std::string flag = beginning, all;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      if (!("--" + name).starts_with(beginning)) continue;
      if (!found.insert(option).second) continue;  // another name of the same flag
      flag = "--" + name;
      all += (all.empty() ? "" : ", ") + flag;
    }
  }
  if (found.size() > 1) {
    throw UsageError(
        fmt::format("{} may be {}; fix: write more of it", beginning, all));
  }
  return flag;
}

/// Words that others use where `train` has another one.
void read_other_words(std::vector<std::string>& words) {
  for (size_t i = 1; i < words.size() && words[i] != "--"; ++i) {
    const bool last = i + 1 == words.size();
    if (words[i] == "--mode=pipeline" ||
        (words[i] == "--mode" && !last && words[i + 1] == "pipeline")) {
      throw UsageError(
          "--mode: there is no 'pipeline'; fix: use --mode model-parallel --split "
          "auto");
    }
    // `demo` and `experiment` have --data DIR; in `train`, DIR needs no flag.
    const bool is_flag = words[i] == "--data" && !last;
    if (is_flag && !run::value_of<run::DataKind>(words[i + 1])) {
      words.erase(words.begin() + static_cast<std::ptrdiff_t>(i));
    } else if (words[i].starts_with("--data=") &&
               !run::value_of<run::DataKind>(words[i].substr(7))) {
      words[i].erase(0, 7);
    }
  }
}

}  // namespace

void read_like_argparse(const CLI::App& app, std::vector<std::string>& words) {
  if (words.empty() || words[0] != "train") return;
  read_other_words(words);
  const CLI::App& command = *app.get_subcommand("train");
  for (size_t i = 1; i < words.size() && words[i] != "--"; ++i) {
    std::string& word = words[i];
    if (word.size() > 3 && word[0] == '-' && word[2] == '=') word.erase(2, 1);
    if (!word.starts_with("--")) continue;
    const size_t end = std::min(word.find('='), word.size());
    word = whole_flag(command, word.substr(0, end)) + word.substr(end);
  }
}

}  // namespace lockstep::cli
