#include "run/environment.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cstdlib>
#include <fstream>
#include <stdexcept>

#include "engine/distributed/rendezvous/credentials.h"
#include "engine/distributed/rendezvous/launchers.h"

namespace lockstep::run {

std::string Environment::command_line() const {
  if (arguments.empty()) return "";
  return fmt::format("{}", fmt::join(arguments.begin() + 1, arguments.end(), " "));
}

std::string Environment::text(const char* name) const {
  const auto found = variables.find(name);
  return found == variables.end() ? "" : found->second;
}

int Environment::number(const char* name, int otherwise) const {
  const std::string text = this->text(name);
  if (text.empty()) return otherwise;
  int value = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  if (read.ec == std::errc() && read.ptr == end) return value;
  throw std::runtime_error(
      fmt::format("the environment variable {} is \"{}\", expected an integer; fix: "
                  "set it to an integer, or unset it",
                  name, text));
}

Environment read_environment() {
  Environment environment;
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  for (std::string argument; std::getline(file, argument, '\0');) {
    environment.arguments.push_back(argument);
  }
  std::vector<std::string> names = distributed::launcher_variables();
  names.insert(names.end(),
               {variable::kRank, variable::kWorld, variable::kLocalRank,
                variable::kLocalWorld, variable::kInit, variable::kInterface,
                variable::kRestart, distributed::kRunIdVariable,
                distributed::kSecretVariable, distributed::kSecretFileVariable});
  for (const std::string& name : names) {
    if (const char* text = std::getenv(name.c_str())) {
      environment.variables[name] = text;
    }
  }
  return environment;
}

}  // namespace lockstep::run
