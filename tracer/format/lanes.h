// Who a lane belongs to. A lane is one (pid, tid): a host thread, or one stream of a
// device. Names come from the file's metadata; rank, device and stream from the
// arguments of the metadata or of the tasks that ran there. Nobody computes with a pid.
#pragma once

#include <compare>
#include <map>
#include <string>

#include "tracer/format/args.h"
#include "tracer/format/trace.h"

namespace lockstep::tracer {

struct LaneKey {
  int64_t pid = 0, tid = 0;
  auto operator<=>(const LaneKey&) const = default;
};

inline LaneKey lane_of(const Event& event) { return {event.pid, event.tid}; }

struct Lane {
  std::string process, thread;  ///< `process_name`, `thread_name`; empty if unnamed
  int64_t process_sort = 0, thread_sort = 0;
  int64_t rank = 0;
  int64_t device = kHost;  ///< kHost for a host thread
  int64_t stream = kNone;  ///< 0 compute, 1 copy, 2 comm; kNone for a host thread
  bool is_host() const { return device == kHost; }
};

/// Kernels, copies and collectives: tasks that a stream runs, one after the other.
inline bool is_task(const Event& event) {
  return event.ph == 'X' &&
         (event.is("kernel") || event.is("copy") || event.is("collective"));
}

/// A loader's worker makes a batch, ahead of the step that takes it: such work is part
/// of no step's time, though the event carries the number of one. (Without workers the
/// same call lies inside the step that makes the batch, and is part of it anyhow.)
inline constexpr const char* kFetch = "_MapDatasetFetcher.fetch";
inline bool runs_ahead(const Event& event) {
  return event.is("call") && event.name == kFetch;
}

class Lanes {
 public:
  explicit Lanes(const Trace& trace);

  /// The lane of an event of this trace.
  const Lane& of(const Event& event) const { return lanes_.at(lane_of(event)); }
  const std::map<LaneKey, Lane>& all() const { return lanes_; }

 private:
  void take_metadata(const Event& event);
  void take_task(const Event& event);

  std::map<LaneKey, Lane> lanes_;      ///< every lane that has an event
  std::map<int64_t, Lane> processes_;  ///< what holds for all lanes of a pid
};

}  // namespace lockstep::tracer
