// Rules about time: who is slow, who waits, and what is full.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "lessons/machine/suspicion_rules.h"

namespace lockstep::lessons::rules {

Finding straggler(const Trace& trace) {
  if (mode_of(trace) == "model-parallel") {
    return {{}, "the devices have different layers, so their times cannot be compared"};
  }
  std::map<int64_t, Events> by_device;
  for (const char* phase : {"forward", "backward"}) {
    for (const Event* task : in_phase(trace, phase)) {
      if (task->is("kernel")) by_device[number(*task, "device")].push_back(task);
    }
  }
  std::map<int64_t, int64_t> busy;
  std::set<int64_t> evaluating;
  for (const Event* step : phases(trace, "step")) {
    if (text(*step, "kind") == "eval") evaluating.insert(step->step);
  }
  for (auto& [device, kernels] : by_device) {
    std::erase_if(kernels, [&](const Event* kernel) {
      return evaluating.contains(kernel->step);
    });
    busy[device] = total(kernels);
  }
  std::vector<std::string> times;
  std::vector<int64_t> sorted;
  for (const auto& [device, ns] : busy) {
    times.push_back(time(ns));
    sorted.push_back(ns);
  }
  std::ranges::sort(sorted);
  const std::string told = fmt::format(
      "in forward and backward, the devices compute "
      "for {}",
      fmt::join(times, ", "));
  if (sorted.size() < 2 || 2 * sorted.back() < 3 * sorted[sorted.size() - 2]) {
    return {{}, told + ": none is slower than the others"};
  }
  const auto slow =
      std::ranges::find(busy, sorted.back(), [](auto& p) { return p.second; });
  Finding found{by_device[slow->first], told};
  const int64_t rank = rank_of(*found.guilty.at(0));
  for (const char* phase : {"step", "forward", "backward"}) {
    append(found.guilty, phases(trace, phase, rank));
  }
  return found;
}

Finding loader(const Trace& trace) {
  Events waits = events_of(trace, "sync", "wait for batch");
  if (waits.empty()) return {{}, "nobody waits for a loader in this recording"};
  const int64_t steps = total(phases(trace, "step"));
  const std::string told =
      fmt::format("of {} of steps (all ranks), {} are waits for a batch", time(steps),
                  time(total(waits)));
  if (5 * total(waits) < steps) return {{}, told};
  Finding found{{}, told};
  for (const Event* wait : waits) {
    if (5 * wait->dur < total(waits) / std::ssize(waits)) continue;
    found.guilty.push_back(wait);
    for (const int64_t id : wait->waits_for) {
      if (const Event* fetch = event_with_id(trace, id)) found.guilty.push_back(fetch);
    }
  }
  for (const Event* data : phases(trace, "data")) {
    const bool waits_long = std::ranges::any_of(found.guilty, [&](const Event* wait) {
      return wait->is("sync") && rank_of(*wait) == rank_of(*data) &&
             within(*wait, *data);
    });
    if (waits_long) found.guilty.push_back(data);
  }
  return found;
}

Finding hook(const Trace& trace) {
  Finding found;
  for (const Event* backward : phases(trace, "backward")) {
    for (const Event* wait : inside(trace, *backward, "sync")) {
      const std::string why = text(*wait, "why");
      if (why == "item" || why == "device" || why == "stream") {
        found.guilty.push_back(wait);
      }
    }
    append(found.guilty, inside(trace, *backward, "op", "aten::item"));
  }
  found.because =
      found.guilty.empty()
          ? "in backward, no thread of the host waits for a device: they only enqueue"
          : "in backward, the host waits for its device";
  return found;
}

/// Returns a step's all-reduces of buckets on a rank, by bucket.
static std::map<int64_t, const Event*> buckets(const Trace& trace, const Event& step) {
  std::map<int64_t, const Event*> found;
  for (const Event* event : events_of(trace, "collective")) {
    const int64_t bucket = number(*event, "bucket");
    const bool of_step = event->step == step.step && rank_of(*event) == rank_of(step);
    if (bucket >= 0 && of_step) found[bucket] = event;
  }
  return found;
}

Finding bucket(const Trace& trace) {
  Finding found;
  int64_t least = INT64_MAX;
  size_t count = 0;
  for (const Event* step : phases(trace, "step")) {
    const auto all = buckets(trace, *step);
    if (all.size() < 2) continue;
    int64_t ready = 0, first = INT64_MAX;
    for (const Event* mark : events_of(trace, "mark", "grad_ready")) {
      const bool of_step = mark->step == step->step && rank_of(*mark) == rank_of(*step);
      if (of_step) ready = std::max(ready, mark->ts);
    }
    for (const auto& [number, event] : all) first = std::min(first, event->ts);
    count = all.size();
    least = std::min(least, ready - first);
    if (first < ready) continue;
    found.guilty.push_back(all.begin()->second);
    for (const Event* mark : events_of(trace, "mark")) {
      const bool here = mark->step == step->step && rank_of(*mark) == rank_of(*step);
      const bool leaves = mark->name == "bucket_ready" && number(*mark, "bucket") == 0;
      const bool last = mark->name == "grad_ready" && mark->ts == ready;
      if (here && (leaves || last)) found.guilty.push_back(mark);
    }
  }
  if (count == 0) {
    found.because = "no gradients travel in buckets in this run";
  } else if (found.guilty.empty()) {
    found.because = fmt::format(
        "of {} buckets, the first leaves at least {} before the last gradient is ready",
        count, time(least));
  } else {
    found.because = fmt::format(
        "none of {} buckets leaves before the last gradient is ready", count);
  }
  return found;
}

/// In an emulated trace, a copy names the copy that held the port which it needed.
Finding port(const Trace& trace) {
  Finding found;
  std::set<const Event*> full;
  for (const Event* copy : events_of(trace, "copy")) {
    const Event* holder = event_with_id(trace, number(*copy, "port_held_by"));
    if (holder == nullptr || text(*copy, "why") == "h2d") continue;
    full.insert({copy, holder});
  }
  int64_t busy = 0;
  for (const Event* copy : full) busy += copy->dur;
  const int64_t all = total(phases(trace, "step", *ranks_of(trace).begin()));
  found.because = fmt::format(
      "of {} of steps, devices send or receive for {} in copies that follow each other "
      "through one port",
      time(all), time(busy));
  if (3 * busy < all) return found;
  found.guilty.assign(full.begin(), full.end());
  std::ranges::sort(found.guilty, {}, &Event::ts);
  return found;
}

}  // namespace lockstep::lessons::rules
