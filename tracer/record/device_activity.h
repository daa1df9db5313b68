// The actual times at which a device ran kernels and
// copies, as reported by its profiler after the fact.
//
// The recorder times a GPU task by two marks around it in the stream's queue. CUPTI
// measures when each kernel began and ended, but reports it later and in any order.
// `collect` queries the registered sources and corrects the events (retime.cpp).
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace lockstep::tracer {

/// One kernel or copy that the device ran for event `event`; times as in `now_ns`.
struct DeviceActivity {
  int64_t event = 0, begin = 0, end = 0;
  const char* kernel = nullptr;  ///< the kernel's name, interned; null for a copy
};

/// Returns the activities reported since its last call. All
/// activities of an event must be returned by the same call.
using DeviceActivitySource = std::function<std::vector<DeviceActivity>()>;

/// Registers `source` for all later calls of `collect`. Thread-safe.
void add_activity_source(DeviceActivitySource source);

/// Attributes everything that the calling thread launches on a device until the
/// end of the scope to `event` (kNone: to no event). Scopes must not be nested.
class ActivityScope {
 public:
  explicit ActivityScope(int64_t event);
  ~ActivityScope();
  ActivityScope(const ActivityScope&) = delete;
  ActivityScope& operator=(const ActivityScope&) = delete;

  /// Returns the event of the calling thread's scope, or kNone outside of a scope.
  static int64_t event();
};

}  // namespace lockstep::tracer
