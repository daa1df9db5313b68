// The header that exercises include in addition to the engine's own headers.
#pragma once

#include <stdexcept>
#include <string>

// A hash of the engine's headers: a library built against different headers must not be
// loaded. `lesson check` passes it to the compiler.
#ifndef LOCKSTEP_STAMP
#define LOCKSTEP_STAMP ""
#endif

namespace lockstep::lessons {

/// Thrown by code that the learner has not written yet.
struct NotWritten : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Ends a function that is not written yet, in place of returning a result.
[[noreturn]] inline void not_written(const std::string& what) {
  throw NotWritten(what);
}

/// The interface of a lesson's library.
struct Plugin {
  const char* stamp;
  int lesson;
  void (*plug)();  ///< plugs the learner's functions into the engine's slots
};

}  // namespace lockstep::lessons

/// LOCKSTEP_LESSON(5) { parallel::primitives().scatter.plug(scatter); }
#define LOCKSTEP_LESSON(number)                            \
  static void lockstep_plug();                             \
  extern "C" lockstep::lessons::Plugin lockstep_lesson() { \
    return {LOCKSTEP_STAMP, number, lockstep_plug};        \
  }                                                        \
  static void lockstep_plug()
