// Commands that this build does not have, with the reason.
#include <cstdio>
#include <filesystem>

#include "base/program.h"
#include "cli/commands.h"

namespace lockstep::cli {

void add_planned(CLI::App& app, Action& action) {
  const std::vector<std::pair<const char*, const char*>> planned{
#ifndef LOCKSTEP_HAS_GUI
      {"view", "install libimgui-dev and libpng-dev, then run ./lockstep again"},
#endif
  };
  for (const auto& [name, help] : planned) {
    auto* command = app.add_subcommand(name, std::string("not built yet: ") + help);
    command->allow_extras();
    const std::string message = std::string(name) + " is not built yet: " + help;
    command->callback([&action, message] {
      action = [message]() -> int { throw std::runtime_error(message); };
    });
  }
  // Done by the wrapper in the checkout, without the program (book/build.bash).
  auto* book = app.add_subcommand("book", "build and open the book (in a checkout)");
  book->allow_extras();
  book->callback([&action] {
    action = []() -> int {
      const auto page = installed("share/doc/lockstep/book/index.html");
      if (std::filesystem::exists(page)) {
        std::puts(page.c_str());
        return 0;
      }
      throw std::runtime_error(
          "the book can only be built in a checkout; fix: ./lockstep book");
    };
  });
}

}  // namespace lockstep::cli
