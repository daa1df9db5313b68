#include "lessons/machine/own_code.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>
#include <string_view>

#include "lessons/machine/slots.h"
#include "lessons/machine/symbols.h"
#include "tracer/format/keys.h"

namespace lockstep::lessons {
namespace {

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
      throw Wrong{fmt::format("calls to the engine's own `{}`", reference),
                  "none",
                  "your file calls it",
                  {"this is the engine's solution to the exercise: yours must be "
                   "written, not called",
                   ""}};
    }
    if (name.starts_with("lockstep::lessons::")) {
      throw Wrong{"calls to the machinery that judges your code",
                  "none",
                  fmt::format("your file calls `{}`", name),
                  {"exercises may use only the engine and lessons/plugin.h", ""}};
    }
  }
  if (!std::ranges::count(symbols.defined, "lockstep_lesson") &&
      !lesson.slots.empty()) {
    refuse_empty_slot(lesson, in_words(lesson.slots));
  }
}

void expect_nothing_of_the_system(const std::string& library) {
  for (const std::string& name : symbols_of(library).used) {
    if (is_harmless(name)) continue;
    throw Wrong{"functions that your file calls",
                "the engine's, and those of the C++ and C standard libraries",
                fmt::format("your file calls `{}`", name),
                {"a graded exercise must not talk to the operating system itself: no "
                 "processes, files or sockets of its own, and no lookup of symbols",
                 ""}};
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
    // The slot creates an object whose functions are recorded under their own names.
    return lesson.slots.size() == 1 &&
           tracer::string_arg(event.args, tracer::keys::file) == file;
  });
}

void expect_called(const Lesson& lesson, const tracer::Trace& trace,
                   const std::string& run) {
  if (!lesson.calls_traced) return;
  for (const std::string& slot : lesson.slots) {
    if (shows_call(trace, lesson, slot)) continue;
    throw Wrong{fmt::format("calls to your `{}` in a training run, `{}`", slot, run),
                "some",
                "none: the engine's own code ran instead",
                {fmt::format("your function must stay plugged into the slot `{}`, in "
                             "every run",
                             slot),
                 ""}};
  }
}

}  // namespace lockstep::lessons
