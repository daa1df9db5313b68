// Whether a lesson's code is the learner's own: plugged into every slot of the lesson,
// called by training, and not a call to the engine's solution.
#pragma once

#include <string>

#include "lessons/machine/exam.h"
#include "lessons/machine/lesson.h"

namespace lockstep::lessons {

/// The name of the test that every library must pass first.
inline constexpr const char* kOwnCode = "own_code";
/// Returns its title: `your code is in its place: \`scatter\``.
std::string own_code_title(const Lesson& lesson);

/// Throws Wrong if the library refers to a function that the exercise asks for, if it
/// refers to the machinery that judges it, or if it lacks its entry point. Loads
/// nothing.
void expect_written(const Lesson& lesson, const std::string& library);

/// Throws Wrong naming a function of the operating system that the library calls, such
/// as `fork`, `socket` or `dlsym`. Loads nothing.
void expect_nothing_of_the_system(const std::string& library);

/// Throws Wrong naming a slot of the lesson into which nothing is plugged. The library
/// must be loaded.
void expect_plugged(const Lesson& lesson);

/// Throws Wrong naming a slot of the lesson that the training run of `trace` never
/// called, if traces show its calls.
void expect_called(const Lesson& lesson, const tracer::Trace& trace,
                   const std::string& run);

/// Returns whether a trace shows a call of the learner's function in this slot.
bool shows_call(const tracer::Trace& trace, const Lesson& lesson,
                const std::string& slot);

}  // namespace lockstep::lessons
