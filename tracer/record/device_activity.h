// The times at which a device really ran kernels and copies, as its profiler reports
// them after the fact.
//
// The recorder times a GPU's task by two marks around it in the stream's queue. CUPTI
// knows when each kernel began and ended, but reports it later and in any order.
// `collect` asks the registered sources and corrects the events (retime.h).
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace lockstep::tracer {

/// One kernel or copy that the device ran for event `event`; times as `now_ns`.
struct DeviceActivity {
  int64_t event = 0, begin = 0, end = 0;
};

/// Returns the activities reported since its last call. An event's activities come
/// together, in one call.
using DeviceActivitySource = std::function<std::vector<DeviceActivity>()>;

/// Registers `source` for every later `collect`. Thread-safe.
void add_activity_source(DeviceActivitySource source);

/// Attributes what the calling thread launches on a device, until the scope ends, to
/// `event` (or to none: kNone). Scopes do not nest.
class ActivityScope {
 public:
  explicit ActivityScope(int64_t event);
  ~ActivityScope();
  ActivityScope(const ActivityScope&) = delete;
  ActivityScope& operator=(const ActivityScope&) = delete;

  /// Returns the event of the calling thread's scope; kNone outside of one.
  static int64_t event();
};

}  // namespace lockstep::tracer
