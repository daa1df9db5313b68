#include "tracer/kineto/collective_launches.h"

#include "tracer/format/args.h"
#include "tracer/kineto/names.h"

namespace lockstep::tracer {

void CollectiveLaunches::take(const Event& event) {
  CollectiveLaunch& open = open_[lane_of(event)];
  if (!collective_of_annotation(event.name.view()).empty()) {
    open.annotation = &event;
  } else if (event.name == "record_param_comms") {
    open.comms = &event;
  }
  if (!open.annotation && !open.comms) return;
  const int64_t correlation = int_arg(event.args, keys::correlation, kNone);
  if (correlation < 0) return;
  const auto around = [&](const Event* outer) {
    return outer && event.ts <= outer->end() ? outer : nullptr;
  };
  const CollectiveLaunch launch = {around(open.annotation), around(open.comms)};
  if (launch.annotation || launch.comms) launches_.emplace(correlation, launch);
}

void CollectiveLaunches::count(const Event& kernel) {
  if (!is_collective_kernel(kernel.name.view())) return;
  const CollectiveLaunch launch = of(kernel);
  if (launch.annotation) ++kernels_in_[launch.annotation];
  if (launch.comms) ++kernels_in_[launch.comms];
}

CollectiveLaunch CollectiveLaunches::of(const Event& kernel) const {
  const int64_t correlation = int_arg(kernel.args, keys::correlation, kNone);
  const auto found = launches_.find(correlation);
  if (correlation < 0 || found == launches_.end()) return {};
  CollectiveLaunch launch = found->second;
  for (const Event* around : {launch.annotation, launch.comms}) {
    const auto kernels = kernels_in_.find(around);
    if (kernels != kernels_in_.end() && kernels->second > 1) launch.sole = false;
  }
  return launch;
}

}  // namespace lockstep::tracer
