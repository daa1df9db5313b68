#include "tracer/emulate/construct/recorded_batches.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <tuple>

#include "tracer/format/facts.h"

namespace lockstep::tracer {
namespace {

[[noreturn]] void batch_unknown(const std::vector<RecordedStep>& steps, int64_t batch) {
  std::string known;
  for (const RecordedStep& step : steps) {
    known += (known.empty() ? "" : ", ") + std::to_string(step.batch);
  }
  throw std::runtime_error(
      fmt::format("a device of this program has a batch of {}, but recorded is {}: "
                  "times of another batch would have to be guessed; fix: record a step "
                  "with -b {}, and name its trace, too",
                  batch, known, batch));
}

void require_same_network(const Trace& trace, const Trace& other) {
  const std::string arch = string_arg(trace.lockstep, top::arch),
                    theirs = string_arg(other.lockstep, top::arch);
  if (arch == theirs) return;
  throw std::runtime_error(fmt::format(
      "the recordings are of {} and {}; fix: pass recordings of one network", arch,
      theirs));
}

bool depends_on_batch(const Event& event) {
  return is_task(event) || event.is(categories::op) || event.is(categories::call) ||
         event.name == names::step;
}

/// Returns the indices of the events that depend on the batch, lane by lane.
std::vector<size_t> in_lanes(const RecordedStep& step) {
  std::vector<size_t> indices;
  for (size_t i = 0; i < step.events.size(); ++i) {
    const Event& event = step.events[i];
    if (event.ph == 'X' && depends_on_batch(event)) indices.push_back(i);
  }
  std::stable_sort(indices.begin(), indices.end(), [&](size_t a, size_t b) {
    const LaneKey x = lane_of(step.events[a]), y = lane_of(step.events[b]);
    return std::tie(x.pid, x.tid) < std::tie(y.pid, y.tid);
  });
  return indices;
}

/// A place between two recorded batches: 0 at the first, 1 at the second.
class Between {
 public:
  Between(const RecordedStep& from, const RecordedStep& to, int64_t batch)
      : share_(static_cast<double>(batch - from.batch) /
               static_cast<double>(to.batch - from.batch)) {}

  void move(Event& event, const Event& other) const {
    for (const char* key :
         {keys::bytes, keys::flops, keys::shapes, keys::shape, keys::batch,
          keys::input_bytes, keys::label_bytes, keys::output_bytes, keys::chunks}) {
      if (!event.args.contains(key) || !other.args.contains(key)) continue;
      event.args[key] =
          between(event.args.find(key).json(), other.args.find(key).json());
    }
    if (!event.is(categories::kernel)) return;
    event.dur = between(kernel_facts(event).cpu, kernel_facts(other).cpu);
    event.args[keys::cpu_us] = static_cast<double>(event.dur) / 1e3;
  }

 private:
  int64_t between(int64_t from, int64_t to) const {
    return from + std::llround(share_ * static_cast<double>(to - from));
  }

  Json between(Json from, const Json& to) const {
    if (from.is_number() && to.is_number()) {
      return between(from.get<int64_t>(), to.get<int64_t>());
    }
    if (from.is_array() && to.is_array() && from.size() == to.size()) {
      for (size_t i = 0; i < from.size(); ++i) from[i] = between(from[i], to[i]);
    }
    return from;
  }

  const double share_;
};

RecordedStep interpolate(RecordedStep from, const RecordedStep& to, int64_t batch) {
  const std::vector<size_t> ours = in_lanes(from), theirs = in_lanes(to);
  const bool same = std::equal(
      ours.begin(), ours.end(), theirs.begin(), theirs.end(),
      [&](size_t a, size_t b) { return from.events[a].name == to.events[b].name; });
  if (!same) {
    throw std::runtime_error(
        fmt::format("the steps with batches of {} and {} do not run the same kernels, "
                    "so nothing is "
                    "known of those between; fix: record a step with -b {}",
                    from.batch, to.batch, batch));
  }
  const Between between(from, to, batch);
  for (size_t i = 0; i < ours.size(); ++i) {
    between.move(from.events[ours[i]], to.events[theirs[i]]);
  }
  from.batch = batch;
  return from;
}

}  // namespace

bool has_step_with_batch(const Trace& trace, const std::vector<const Trace*>& further,
                         int64_t batch) {
  int64_t least = recorded_step(trace).batch, most = least;
  for (const Trace* other : further) {
    least = std::min(least, recorded_step(*other).batch);
    most = std::max(most, recorded_step(*other).batch);
  }
  return least <= batch && batch <= most;
}

RecordedStep step_with_batch(const Trace& trace,
                             const std::vector<const Trace*>& further, int64_t batch) {
  std::vector<RecordedStep> steps{recorded_step(trace)};
  for (const Trace* other : further) {
    require_same_network(trace, *other);
    steps.push_back(recorded_step(*other));
  }
  std::stable_sort(steps.begin(), steps.end(),
                   [](const auto& a, const auto& b) { return a.batch < b.batch; });
  const auto above =
      std::find_if(steps.begin(), steps.end(),
                   [&](const RecordedStep& step) { return step.batch >= batch; });
  if (above == steps.end()) batch_unknown(steps, batch);
  if (above->batch == batch) return *above;
  if (above == steps.begin()) batch_unknown(steps, batch);
  const auto below = above - 1;
  const bool nearer_below = batch - below->batch <= above->batch - batch;
  return nearer_below ? interpolate(*below, *above, batch)
                      : interpolate(*above, *below, batch);
}

}  // namespace lockstep::tracer
