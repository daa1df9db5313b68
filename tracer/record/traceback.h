// The calls that an exception left, as in Python's traceback. They are kept whether or
// not the recorder is on. All functions refer to the calling thread.
#pragma once

#include <exception>
#include <source_location>
#include <string>
#include <vector>

#include "tracer/record/recorder.h"

namespace lockstep::tracer {

/// A call that an exception left.
struct Frame {
  std::source_location site;  ///< where the function was called
  int below = 0;              ///< lines from there to the call
  const char* module = "";    ///< path of the module, if one is called
  std::string thread;  ///< if not empty: only names the thread of the calls inside it
};

struct Traceback {
  std::vector<Frame> frames;  ///< innermost first
  int64_t event = kNone;      ///< the innermost recorded event that the exception left
};

/// A call, from construction to destruction; adds itself to the thread's traceback if
/// an exception ends it. `module` must be interned or a literal; `below` is the number
/// of lines from `site` to the call.
class CallSite {
 public:
  explicit CallSite(const std::source_location& site, const char* module = "",
                    int below = 0);
  ~CallSite();
  CallSite(const CallSite&) = delete;
  CallSite& operator=(const CallSite&) = delete;

 private:
  const std::source_location site_;
  const char* const module_;
  const int below_;
  const int exceptions_ = std::uncaught_exceptions();
};

/// Returns the traceback of the exception that was caught last, and forgets it.
Traceback take_traceback();

/// Continues the traceback of an exception that was caught in another thread. Must be
/// called before it is thrown again; `thread` describes the other thread.
void continue_traceback(Traceback inner, std::string thread);

/// Returns the calls as Python prints them, outermost first, with the lines of the
/// sources that are embedded in the program; "" if no module was called: such an error,
/// for example a missing driver, concerns the run and not the model.
std::string traceback_text(const Traceback& traceback);

}  // namespace lockstep::tracer
