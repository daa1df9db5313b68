#include "tracer/analysis/communication.h"

#include <algorithm>
#include <map>

#include "tracer/format/facts.h"
#include "tracer/format/times.h"

namespace lockstep::tracer {

namespace {

/// Several ranks may each have a device 0.
LaneKey place_of(const Lane& lane) { return {lane.rank, lane.device}; }

struct Message {
  const Event* event;
  int64_t seq;
  bool modelled;
  bool lies_in(const Event& collective) const {
    return event->ts >= collective.ts && event->end() <= collective.end();
  }
  /// A send ends when its bytes are on their way, before the receiver has them all.
  bool leaves_in(const Event& send) const {
    return send.name == categories::send && event->ts >= send.ts &&
           event->ts <= send.end();
  }
};

}  // namespace

std::string what_of(const CollectiveFacts& collective) {
  const bool named = !collective.tensor.empty() && collective.tensor != "numbers";
  return std::string(named ? collective.tensor : collective.why);
}

const std::vector<int64_t CollectiveTime::*> CollectiveTime::kTimes = {
    &CollectiveTime::took,    &CollectiveTime::transfer,     &CollectiveTime::wait,
    &CollectiveTime::exposed, &CollectiveTime::exposed_wait, &CollectiveTime::backward};

void ComputingTime::Kernels::add(const Event& event, const Lanes& lanes) {
  if (event.ph != 'X' || !computes(event)) return;
  const Lane& lane = lanes.of(event);
  add({lane.rank, lane.device, event.ts, event.end(),
       kernel_facts(event).phase == phases::backward});
}

void ComputingTime::Kernels::add(const Kernel& kernel) {
  const LaneKey place{kernel.rank, kernel.device};
  all[place].add(kernel.begin, kernel.end);
  if (kernel.backward) backward[place].add(kernel.begin, kernel.end);
}

ComputingTime::ComputingTime(const Trace& trace, const Lanes& lanes) {
  Kernels kernels;
  for (const Event& event : trace.events) kernels.add(event, lanes);
  merge(kernels);
}

ComputingTime::ComputingTime(const Step& step, const Lanes& lanes) {
  Kernels kernels;
  for (const Event* task : step.tasks) kernels.add(*task, lanes);
  merge(kernels);
}

ComputingTime::ComputingTime(const std::vector<Kernel>& all) {
  Kernels kernels;
  for (const Kernel& kernel : all) kernels.add(kernel);
  merge(kernels);
}

void ComputingTime::merge(const Kernels& kernels) {
  for (const auto& [place, spans] : kernels.all) merged_[place] = spans.merged();
  for (const auto& [place, spans] : kernels.backward) backward_[place] = spans.merged();
}

int64_t ComputingTime::between(const Lane& lane, int64_t from, int64_t to) const {
  return covered(merged_, lane, from, to);
}

int64_t ComputingTime::backward(const Lane& lane, int64_t from, int64_t to) const {
  return covered(backward_, lane, from, to);
}

void ComputingTime::divide(const Lane& lane, int64_t from, const Spans& messages,
                           CollectiveTime& time) const {
  const int64_t end = from + time.took;
  time.exposed = time.took - between(lane, from, end);
  time.backward = backward(lane, from, end);
  if (time.unseen) return;
  time.exposed_wait = time.exposed;
  for (auto [begin, until] : messages.merged()) {
    begin = std::max(begin, from), until = std::min(until, end);
    if (begin >= until) continue;
    time.exposed_wait -= until - begin - between(lane, begin, until);
  }
}

int64_t ComputingTime::covered(const Merged& merged, const Lane& lane, int64_t from,
                               int64_t to) {
  const auto* spans = merged.find(place_of(lane));
  if (spans == nullptr) return 0;
  auto span = std::upper_bound(spans->begin(), spans->end(), from,
                               [](int64_t t, const auto& s) { return t < s.second; });
  int64_t total = 0;
  for (; span != spans->end() && span->first < to; ++span) {
    total += std::min(to, span->second) - std::max(from, span->first);
  }
  return total;
}

std::vector<CollectiveTime> collective_times(const Step& step, const Lanes& lanes) {
  return collective_times(step, lanes, ComputingTime(step, lanes));
}

std::vector<CollectiveTime> collective_times(const Step& step, const Lanes& lanes,
                                             const ComputingTime& computing) {
  LaneMap<std::vector<Message>> messages;           // by lane
  std::map<int64_t, std::vector<Message>> outward;  // by the sender's device
  std::vector<const Event*> collectives;
  for (const Event* task : step.tasks) {
    if (task->is(categories::collective)) collectives.push_back(task);
  }
  if (collectives.empty()) return {};
  for (const Event* task : step.tasks) {
    if (!task->is(categories::copy) || !task->args.may_hold(keys::seq)) continue;
    const CopyFacts copy = copy_facts(*task);
    if (copy.seq != kNone) {
      const Message message{task, copy.seq, copy.modelled};
      messages[lane_of(*task)].push_back(message);
      outward[copy.src].push_back(message);
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
    time.bytes = facts.imported && !facts.sized ? kNone : facts.bytes;
    time.took = task->dur;
    time.unseen = facts.imported;
    Spans moving;
    for (const Message& message : outward[lane.device]) {
      const bool sent = message.seq == facts.seq &&
                        (message.lies_in(*task) || message.leaves_in(*task));
      if (sent) moving.add(message.event->ts, message.event->end());
    }
    for (const Message& message : messages[lane_of(*task)]) {
      if (message.seq != facts.seq || !message.lies_in(*task)) continue;
      moving.add(message.event->ts, message.event->end());
      time.transfer = add_within_range(time.transfer, message.event->dur);
      time.unseen = time.unseen || message.modelled;
    }
    time.unseen = time.unseen || moving.covered() == 0;
    if (time.unseen) {
      time.transfer = 0;
    } else {
      time.wait = task->dur - std::min(task->dur, time.transfer);
    }
    computing.divide(lane, task->ts, moving, time);
    times.push_back(std::move(time));
  }
  std::stable_sort(times.begin(), times.end(),
                   [](const auto& a, const auto& b) { return a.rank < b.rank; });
  return times;
}

std::vector<MeanCollective> mean_collectives(
    const std::vector<const std::vector<CollectiveTime>*>& steps) {
  std::vector<MeanCollective> means;
  for (size_t step = 0; step < steps.size(); ++step) {
    for (const CollectiveTime& time : *steps[step]) {
      const auto same = std::find_if(means.begin(), means.end(), [&](const auto& m) {
        return m.mean.what == time.what && m.mean.bytes == time.bytes;
      });
      if (same == means.end()) {
        means.push_back({time, 1, step, step});
        continue;
      }
      ++same->count;
      same->last = step;
      for (const auto field : CollectiveTime::kTimes) {
        same->mean.*field = add_within_range(same->mean.*field, time.*field);
      }
    }
  }
  for (MeanCollective& own : means) {
    for (const auto field : CollectiveTime::kTimes) own.mean.*field /= own.count;
  }
  return means;
}

}  // namespace lockstep::tracer
