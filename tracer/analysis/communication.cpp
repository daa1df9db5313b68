#include "tracer/analysis/communication.h"

#include <algorithm>
#include <map>

#include "tracer/analysis/spans.h"
#include "tracer/format/times.h"

namespace lockstep::tracer {

namespace {

std::string what_of(const Event& collective) {
  const std::string tensor = string_arg(collective.args, "tensor");
  const std::string why = string_arg(collective.args, "why");
  if (tensor.empty() || tensor == "numbers") return why;
  return tensor;
}

bool is_message_of(const Event& task, const Event& collective) {
  return task.is("copy") && lane_of(task) == lane_of(collective) &&
         task.ts >= collective.ts && task.end() <= collective.end() &&
         int_arg(task.args, "seq", kNone) == int_arg(collective.args, "seq", -2);
}

}  // namespace

const std::vector<int64_t CollectiveTime::*> CollectiveTime::kTimes = {
    &CollectiveTime::took, &CollectiveTime::transfer, &CollectiveTime::wait,
    &CollectiveTime::exposed};

std::vector<CollectiveTime> collective_times(const Step& step, const Lanes& lanes) {
  std::map<int64_t, Spans> computing;  // by device
  for (const Event* task : step.tasks) {
    if (task->is("kernel"))
      computing[lanes.of(*task).device].add(task->ts, task->end());
  }
  std::vector<CollectiveTime> times;
  for (const Event* task : step.tasks) {
    if (!task->is("collective")) continue;
    const Lane& lane = lanes.of(*task);
    CollectiveTime time;
    time.rank = lane.rank;
    time.seq = int_arg(task->args, "seq");
    time.bucket = int_arg(task->args, "bucket", kNone);
    time.what = what_of(*task);
    time.bytes = int_arg(task->args, "bytes");
    time.took = task->dur;
    time.unseen = bool_arg(task->args, "imported");
    for (const Event* message : step.tasks) {
      if (!is_message_of(*message, *task)) continue;
      time.transfer = add_within_range(time.transfer, message->dur);
      time.unseen = time.unseen || bool_arg(message->args, "modelled");
    }
    if (time.unseen) {
      time.transfer = 0;
    } else {
      time.wait = task->dur - std::min(task->dur, time.transfer);
    }
    Spans both = computing[lane.device];
    const int64_t alone = both.covered();
    both.add(task->ts, task->end());
    time.exposed = both.covered() - alone;
    times.push_back(std::move(time));
  }
  std::stable_sort(times.begin(), times.end(),
                   [](const auto& a, const auto& b) { return a.rank < b.rank; });
  return times;
}

std::vector<MeanCollective> mean_collectives(
    const std::vector<const std::vector<CollectiveTime>*>& steps) {
  std::vector<MeanCollective> means;
  for (const auto* times : steps) {
    for (const CollectiveTime& time : *times) {
      const auto same = std::find_if(means.begin(), means.end(), [&](const auto& m) {
        return m.mean.what == time.what && m.mean.bytes == time.bytes;
      });
      if (same == means.end()) {
        means.push_back({time, 1});
        continue;
      }
      ++same->count;
      for (const auto field : CollectiveTime::kTimes) {
        same->mean.*field = add_within_range(same->mean.*field, time.*field);
      }
    }
  }
  for (auto& [mean, count] : means) {
    for (const auto field : CollectiveTime::kTimes) mean.*field /= count;
  }
  return means;
}

}  // namespace lockstep::tracer
