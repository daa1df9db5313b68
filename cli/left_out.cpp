// What lockstep_core has in place of lessons and studies: their names in --help.
// ./lockstep builds and runs the whole program for them.
#include <cstdlib>

#include "cli/commands.h"
#include "lessons/machine/judge.h"

namespace lockstep {
namespace {

[[noreturn]] void refuse(const std::string& what) {
  throw std::runtime_error(
      "this program was built without " + what +
      "; fix: build and run the target lockstep, not lockstep_core");
}

void add_name(CLI::App& app, cli::Action& action, const char* name, const char* help) {
  app.add_subcommand(name, help)->allow_extras()->callback([&action, name] {
    action = [name]() -> int { refuse(name + std::string("s")); };
  });
}

}  // namespace

namespace cli {

void add_lesson(CLI::App& app, Action& action) {
  add_name(app, action, "lesson", kLessonHelp);
}

void add_experiment(CLI::App& app, Action& action) {
  add_name(app, action, "experiment", kExperimentHelp);
}

void add_log(CLI::App& app, Action& action) { add_name(app, action, "log", kLogHelp); }

}  // namespace cli

void lessons::plug_from_environment() {
  if (std::getenv("LOCKSTEP_SLOTS") != nullptr) refuse("lessons (LOCKSTEP_SLOTS)");
}

}  // namespace lockstep
