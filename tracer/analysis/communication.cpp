#include "tracer/analysis/communication.h"

#include <algorithm>
#include <map>

#include "tracer/analysis/spans.h"
#include "tracer/format/facts.h"
#include "tracer/format/times.h"

namespace lockstep::tracer {

namespace {

std::string what_of(const CollectiveFacts& collective) {
  const bool named = !collective.tensor.empty() && collective.tensor != "numbers";
  return std::string(named ? collective.tensor : collective.why);
}

struct Message {
  const Event* event;
  int64_t seq;
  bool modelled;
  bool lies_in(const Event& collective) const {
    return event->ts >= collective.ts && event->end() <= collective.end();
  }
};

}  // namespace

const std::vector<int64_t CollectiveTime::*> CollectiveTime::kTimes = {
    &CollectiveTime::took, &CollectiveTime::transfer, &CollectiveTime::wait,
    &CollectiveTime::exposed};

std::vector<CollectiveTime> collective_times(const Step& step, const Lanes& lanes) {
  std::map<int64_t, Spans> computing;      // by device
  LaneMap<std::vector<Message>> messages;  // by lane
  std::vector<const Event*> collectives;
  for (const Event* task : step.tasks) {
    if (task->is(categories::collective)) collectives.push_back(task);
  }
  if (collectives.empty()) return {};
  for (const Event* task : step.tasks) {
    if (task->is(categories::kernel)) {
      computing[lanes.of(*task).device].add(task->ts, task->end());
    } else if (task->is(categories::copy) && task->args.may_hold(keys::seq)) {
      const CopyFacts copy = copy_facts(*task);
      if (copy.seq != kNone) {
        messages[lane_of(*task)].push_back({task, copy.seq, copy.modelled});
      }
    }
  }
  std::vector<CollectiveTime> times;
  for (const Event* task : collectives) {
    const Lane& lane = lanes.of(*task);
    const CollectiveFacts facts = collective_facts(*task);
    CollectiveTime time;
    time.rank = lane.rank;
    time.seq = facts.seq == kNone ? 0 : facts.seq;
    time.bucket = facts.bucket;
    time.what = what_of(facts);
    time.bytes = facts.bytes;
    time.took = task->dur;
    time.unseen = facts.imported;
    for (const Message& message : messages[lane_of(*task)]) {
      if (message.seq != facts.seq || !message.lies_in(*task)) continue;
      time.transfer = add_within_range(time.transfer, message.event->dur);
      time.unseen = time.unseen || message.modelled;
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
