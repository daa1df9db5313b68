// Which annotation and which operator enclosed the launch of a collective's kernel.
#pragma once

#include <unordered_map>

#include "tracer/format/lanes.h"
#include "tracer/kineto/tasks.h"

namespace lockstep::tracer {

class CollectiveLaunches {
 public:
  /// Takes the host's events in order: annotations, operators and launches.
  void take(const Event& event);
  /// Takes the devices' events, after all of the host's: an annotation in which several
  /// collectives were launched does not tell their sizes.
  void count(const Event& kernel);

  CollectiveLaunch of(const Event& kernel) const;

 private:
  LaneMap<CollectiveLaunch> open_;  ///< what began last on each thread
  std::unordered_map<int64_t, CollectiveLaunch> launches_;  ///< by correlation
  std::unordered_map<const Event*, int> kernels_in_;
};

}  // namespace lockstep::tracer
