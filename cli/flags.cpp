#include "cli/flags.h"

#include "base/program.h"
#include "cli/commands.h"

namespace lockstep::cli {

void require_known_subcommand(CLI::App& command) {
  command.require_subcommand(0, 1);  // CLI11's own error would not name the word
  command.allow_extras();
  command.parse_complete_callback([&command] {
    if (!command.get_subcommands().empty()) return;
    std::string known;
    for (const CLI::App* sub :
         command.get_subcommands([](CLI::App* s) { return !s->get_group().empty(); })) {
      known += (known.empty() ? "" : ", ") + sub->get_name();
    }
    const std::string& name = command.get_name();
    const auto words = command.remaining();
    throw UsageError((words.empty()
                          ? name + " needs a command"
                          : "unknown command '" + name + " " + words[0] + "'") +
                     ": " + known + "; see " + program() + " " + name + " --help");
  });
}

}  // namespace lockstep::cli
