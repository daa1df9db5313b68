// Commands of the contract that later parts of the project bring.
#include "cli/commands.h"

namespace lockstep::cli {

void add_planned(CLI::App& app, Action& action) {
  const std::pair<const char*, const char*> planned[] = {
#ifndef LOCKSTEP_HAS_GUI
      {"view", "install libimgui-dev and libpng-dev, then run ./lockstep again"},
#endif
      {"experiment", "the seed's studies"},
      {"book", "the book"}};
  for (const auto& [name, help] : planned) {
    auto* command = app.add_subcommand(name, std::string("not built yet: ") + help);
    command->allow_extras();
    const std::string message = std::string(name) + " is not built yet: " + help;
    command->callback([&action, message] {
      action = [message]() -> int { throw std::runtime_error(message); };
    });
  }
}

}  // namespace lockstep::cli
