#include "lessons/machine/python.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <stdexcept>
#include <vector>

#include "base/process.h"

namespace lockstep::lessons {
namespace {

/// Finds the package without importing it, which takes a second.
constexpr const char* kHasTorch =
    "import importlib.util as u, sys; sys.exit(not u.find_spec('torch'))";
constexpr const char* kParse =
    "import sys; compile(open(sys.argv[1], encoding='utf-8').read(), sys.argv[1], "
    "'exec')";

bool has_torch(const std::string& python) {
  try {
    return run_process({python, "-c", kHasTorch}).exit_code == 0;
  } catch (const std::runtime_error&) {
    return false;  // no such program
  }
}

}  // namespace

std::string python_for(const Lesson& lesson) {
  const char* named = std::getenv("LOCKSTEP_PYTHON");
  std::vector<std::string> known{"python3", "/usr/bin/python3"};
  if (named != nullptr && *named) known = {named};
  for (const std::string& python : known) {
    if (has_torch(python)) return python;
  }
  throw std::runtime_error(fmt::format(
      "lesson {} uses PyTorch, which {} {} not have; fix: apt-get install "
      "python3-torch, or name an interpreter that has it in "
      "LOCKSTEP_PYTHON",
      lesson.number, fmt::join(known, " and "), known.size() == 1 ? "does" : "do"));
}

std::string syntax_error(const std::string& python, const std::filesystem::path& file) {
  const ProcessResult parsed = run_process({python, "-c", kParse, file.string()});
  if (parsed.exit_code == 0) return "";
  const std::string& text = parsed.errors;  // a traceback: the file comes last
  const size_t from = text.rfind("  File \"" + file.string());
  return from == std::string::npos ? text : text.substr(from);
}

}  // namespace lockstep::lessons
