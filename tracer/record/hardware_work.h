// When hardware really worked: told later than the events were recorded.
//
// A GPU's kernels are recorded when their stream is known to have passed them, at the
// times of two marks around them. A profiler (CUPTI) knows each kernel's own begin and
// end, but tells them in its own time and order. `collect` asks for them and puts the
// events where the work was.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace lockstep::tracer {

/// One kernel or copy that hardware did for the event with that id; ns of `now_ns`.
struct HardwareWork {
  int64_t event = 0, begin = 0, end = 0;
};

/// Gives what has become known since it was asked last; of an event all or nothing.
using HardwareWorkSource = std::function<std::vector<HardwareWork>()>;

/// `collect` will ask `source`, for ever. Thread-safe.
void add_hardware_source(HardwareWorkSource source);

/// What the calling thread hands to hardware from now on, until the scope's end, is
/// done for that event (or kNone).
class HardwareScope {
 public:
  explicit HardwareScope(int64_t event);
  ~HardwareScope();
  HardwareScope(const HardwareScope&) = delete;

  /// The event of the calling thread's scope; kNone outside.
  static int64_t event();
};

}  // namespace lockstep::tracer
