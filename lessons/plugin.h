// What a lesson's exercise includes, besides the engine's own headers.
#pragma once

#include <stdexcept>
#include <string>

// The engine's headers in one number: a library that was built against others must not
// be loaded. `lesson check` passes it to the compiler.
#ifndef LOCKSTEP_STAMP
#define LOCKSTEP_STAMP ""
#endif

namespace lockstep::lessons {

/// Thrown where the learner has not written anything yet.
struct NotWritten : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Stands at the end of a function that is still to be written, in place of a result.
[[noreturn]] inline void not_written(const std::string& what) {
  throw NotWritten(what);
}

/// What the program learns from a lesson's library.
struct Plugin {
  const char* stamp;
  int lesson;
  void (*plug)();  ///< puts the learner's functions into the engine's slots
};

}  // namespace lockstep::lessons

/// LOCKSTEP_LESSON(5) { parallel::primitives().scatter.plug(scatter); }
#define LOCKSTEP_LESSON(number)                            \
  static void lockstep_plug();                             \
  extern "C" lockstep::lessons::Plugin lockstep_lesson() { \
    return {LOCKSTEP_STAMP, number, lockstep_plug};        \
  }                                                        \
  static void lockstep_plug()
