#include "experiments/plot.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <stdexcept>

#include "base/file.h"
#include "base/process.h"
#include "tracer/record/embedded.h"

namespace lockstep::experiments {
namespace fs = std::filesystem;
namespace {

void write(const fs::path& path, const std::string& text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

/// Returns the text of a file in this folder, which is embedded in the program.
std::string program_text(const std::string& name) {
  const std::string path = "experiments/" + name;
  for (size_t i = 0; i < lockstep_embedded_file_count(); ++i) {
    const EmbeddedFile& file = lockstep_embedded_files()[i];
    if (path == file.path) return {file.begin, file.end};
  }
  throw std::logic_error(path + " is not embedded");
}

std::string run_gnuplot(const fs::path& script, const std::string& kind) {
  const std::string what = script.stem().string() + "." + kind;
  ProcessResult result{127, "", ""};
  try {
    result = run_process({"gnuplot", "-e", "kind='" + kind + "'", script});
  } catch (const std::runtime_error&) {  // it is missing
  }
  if (result.exit_code == 127) {
    throw std::runtime_error(what +
                             ": not drawn because gnuplot is missing; fix: apt-get "
                             "install gnuplot-nox, then run the same command again");
  }
  if (result.exit_code != 0 || result.output.empty()) {
    std::string reason = result.errors.substr(0, 300);
    for (char& c : reason) c = c == '\n' ? ' ' : c;
    throw std::runtime_error(
        fmt::format("{}: not drawn because gnuplot exited with {}: {}", what,
                    result.exit_code, reason));
  }
  return result.output;
}

}  // namespace

std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) {
    result += c;
    if (c == '\'') result += '\'';
  }
  return result + "'";
}

std::string data_block(const std::string& name, const std::string& rows) {
  return fmt::format("${} << EOD\n{}EOD\n", name, rows);
}

std::string variable(const std::string& name, const std::string& text) {
  return fmt::format("{} = {}\n", name, quoted(text));
}

std::string array(const std::string& name, const std::vector<std::string>& values) {
  return fmt::format("array {}[{}] = [{}]\n", name, values.size(),
                     fmt::join(values, ", "));
}

std::string script_of(const Plot& plot, const std::string& name) {
  return fmt::format("# `gnuplot {0}.gp` draws {0}.png again.\n", name) +
         variable("name", name) +
         fmt::format("width = {}\nheight = {}\n", plot.width, plot.height) +
         variable("heading", plot.heading) + plot.data + program_text("style.gp") +
         program_text(plot.program);
}

void draw(const Plot& plot, const fs::path& base) {
  const fs::path script = base.string() + ".gp";
  write(script, script_of(plot, base.filename().string()));
  for (const std::string kind : {"svg", "png"}) {
    write(base.string() + "." + kind, run_gnuplot(script, kind));
  }
}

}  // namespace lockstep::experiments
