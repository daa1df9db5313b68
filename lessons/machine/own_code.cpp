#include "lessons/machine/own_code.h"

#include <cxxabi.h>
#include <elf.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>
#include <string_view>

#include "lessons/machine/slots.h"
#include "tracer/format/keys.h"

namespace lockstep::lessons {
namespace {

/// The names in a library's dynamic symbol table, without parameters.
struct Symbols {
  std::vector<std::string> used;     ///< defined elsewhere, for example in the engine
  std::vector<std::string> defined;  ///< here
};

std::string demangled(const char* symbol) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(symbol, nullptr, nullptr, &status), std::free);
  std::string name = status == 0 ? text.get() : symbol;
  name.erase(std::min(name.find_first_of("(["), name.size()));
  return name;
}

/// Returns the T at `offset` of a file's contents; zeros if it is too short.
template <typename T>
T read_at(const std::string& file, size_t offset) {
  T value{};
  if (offset <= file.size() && sizeof(T) <= file.size() - offset) {
    std::memcpy(&value, file.data() + offset, sizeof(T));
  }
  return value;
}

Symbols symbols_of(const std::string& library) {
  std::ifstream stream(library, std::ios::binary);
  const std::string file{std::istreambuf_iterator<char>(stream), {}};
  const auto header = read_at<Elf64_Ehdr>(file, 0);
  const auto section = [&](size_t i) {
    return read_at<Elf64_Shdr>(file, header.e_shoff + i * sizeof(Elf64_Shdr));
  };
  Symbols symbols;
  for (size_t i = 0; i < header.e_shnum; ++i) {
    const Elf64_Shdr table = section(i);
    if (table.sh_type != SHT_DYNSYM) continue;
    const size_t names = section(table.sh_link).sh_offset;
    for (size_t at = 0; at < table.sh_size; at += sizeof(Elf64_Sym)) {
      const auto symbol = read_at<Elf64_Sym>(file, table.sh_offset + at);
      const size_t name = names + symbol.st_name;
      if (symbol.st_name == 0 || name >= file.size()) continue;
      auto& list = symbol.st_shndx == SHN_UNDEF ? symbols.used : symbols.defined;
      list.push_back(demangled(file.c_str() + name));
    }
  }
  return symbols;
}

/// Returns the end of the skeleton, `LOCKSTEP_LESSON(5) { … }`, in one line.
std::string registration_of(const Lesson& lesson) {
  const std::string text = lesson.exercise();
  std::istringstream words(
      text.substr(std::min(text.rfind("LOCKSTEP_LESSON("), text.size())));
  std::string line;
  for (std::string word; words >> word;) line += (line.empty() ? "" : " ") + word;
  return line;
}

[[noreturn]] void refuse_empty_slot(const Lesson& lesson, const std::string& slots) {
  throw Wrong{fmt::format("the engine's slot `{}`", slots),
              "a function of yours is plugged in",
              "nothing is plugged in: the engine's own code would be judged",
              {fmt::format("your file must end as the skeleton does: {}",
                           registration_of(lesson)),
               ""}};
}

std::string in_words(const std::vector<std::string>& slots) {
  return fmt::format("{}", fmt::join(slots, "`, `"));
}

}  // namespace

std::string own_code_title(const Lesson& lesson) {
  if (lesson.slots.empty()) return "your code is loaded";
  return fmt::format("your code is in its place: `{}`", in_words(lesson.slots));
}

void expect_written(const Lesson& lesson, const std::string& library) {
  const Symbols symbols = symbols_of(library);
  for (const std::string& name : symbols.used) {
    for (const std::string& reference : lesson.not_called) {
      if (name != "lockstep::" + reference) continue;
      throw Wrong{fmt::format("calls of the engine's own `{}`", reference),
                  "none",
                  "your file calls it",
                  {"this is the engine's solution of the exercise: it must be written, "
                   "not called",
                   ""}};
    }
    if (name.starts_with("lockstep::lessons::")) {
      throw Wrong{"calls of the machine that judges your code",
                  "none",
                  fmt::format("your file calls `{}`", name),
                  {"exercises use the engine and lessons/plugin.h only", ""}};
    }
  }
  if (!std::ranges::count(symbols.defined, "lockstep_lesson") &&
      !lesson.slots.empty()) {
    refuse_empty_slot(lesson, in_words(lesson.slots));
  }
}

void expect_plugged(const Lesson& lesson) {
  for (const std::string& slot : lesson.slots) {
    if (!is_plugged(slot)) refuse_empty_slot(lesson, slot);
  }
}

bool shows_call(const tracer::Trace& trace, const Lesson& lesson,
                const std::string& slot) {
  const std::string file = "workspace/" + lesson.slug + "/" + lesson.file;
  return std::ranges::any_of(trace.events, [&](const tracer::Event& event) {
    if (!event.args.contains(tracer::keys::slot)) return false;
    if (tracer::string_arg(event.args, tracer::keys::slot) == slot) return true;
    // The slot makes an object, whose functions are recorded by their own names.
    return lesson.slots.size() == 1 &&
           tracer::string_arg(event.args, tracer::keys::file) == file;
  });
}

void expect_called(const Lesson& lesson, const tracer::Trace& trace,
                   const std::string& run) {
  if (!lesson.calls_traced) return;
  for (const std::string& slot : lesson.slots) {
    if (shows_call(trace, lesson, slot)) continue;
    throw Wrong{fmt::format("calls of your `{}` in a training run, `{}`", slot, run),
                "some",
                "none: the engine's own code ran instead",
                {fmt::format("your function must stay plugged into the slot `{}`, in "
                             "every run",
                             slot),
                 ""}};
  }
}

}  // namespace lockstep::lessons
