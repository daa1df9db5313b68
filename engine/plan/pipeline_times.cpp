#include "engine/plan/pipeline_times.h"

#include <algorithm>

namespace lockstep::plan {
namespace {

using Op = PipelineOp;

/// Runs a schedule: repeatedly the next action of every rank, if its input is there.
class Run {
 public:
  Run(const PipelineSchedule& schedule, const PipelineCosts& costs)
      : schedule_(schedule), costs_(costs), times_(schedule.size()) {
    for (const auto& rank : schedule) {
      for (const PipelineAction& action : rank) last_ = std::max(last_, action.stage);
    }
  }

  bool finish() {
    for (bool moved = true; moved;) {
      moved = false;
      for (size_t rank = 0; rank < schedule_.size(); ++rank) {
        while (times_[rank].size() < schedule_[rank].size() && run_next(rank)) {
          moved = true;
        }
      }
    }
    for (size_t rank = 0; rank < schedule_.size(); ++rank) {
      if (times_[rank].size() < schedule_[rank].size()) return false;
    }
    return true;
  }

  std::vector<std::vector<TimedAction>> times_of_ranks() { return std::move(times_); }
  std::vector<size_t> progress() const {
    std::vector<size_t> counts;
    for (const auto& rank : times_) counts.push_back(rank.size());
    return counts;
  }

 private:
  struct Done {
    double end;
    size_t rank;
  };
  using Key = std::pair<int, int>;  // stage, micro-batch

  bool run_next(size_t rank) {
    auto& times = times_[rank];
    const PipelineAction& action = schedule_[rank][times.size()];
    double start = times.empty() ? 0 : times.back().end;
    if (!wait_for_inputs(action, rank, start)) return false;
    const double end = start + cost(action);
    times.push_back({action, start, end});
    const Done done{end, rank};
    const Key key{action.stage, action.micro_batch};
    if (action.op == Op::forward) forward_.emplace(key, done);
    if (action.op == Op::backward || action.op == Op::input_backward) {
      backward_.emplace(key, done);
    }
    return true;
  }

  /// Moves `start` to when the inputs have arrived; returns false if one never ran.
  bool wait_for_inputs(const PipelineAction& action, size_t rank, double& start) const {
    const auto after = [&](const std::map<Key, Done>& passes, int stage) {
      const auto found = passes.find({stage, action.micro_batch});
      if (found == passes.end()) return false;
      const double way = found->second.rank == rank ? 0 : costs_.latency;
      start = std::max(start, found->second.end + way);
      return true;
    };
    switch (action.op) {
      case Op::forward:
        return action.stage == 0 || after(forward_, action.stage - 1);
      case Op::weight_backward:
        return after(backward_, action.stage);
      case Op::backward:
      case Op::input_backward:
        return after(forward_, action.stage) &&
               (action.stage == last_ || after(backward_, action.stage + 1));
    }
    return false;
  }

  double cost(const PipelineAction& action) const {
    const auto stage = static_cast<size_t>(action.stage);
    if (action.op == Op::forward) return costs_.forward[stage];
    const double whole = costs_.backward[stage];
    if (action.op == Op::input_backward) return costs_.input_share * whole;
    if (action.op == Op::weight_backward) return (1 - costs_.input_share) * whole;
    return whole;
  }

  const PipelineSchedule& schedule_;
  const PipelineCosts& costs_;
  std::vector<std::vector<TimedAction>> times_;
  std::map<Key, Done> forward_, backward_;
  int last_ = 0;  ///< stage
};

}  // namespace

std::optional<std::vector<std::vector<TimedAction>>> pipeline_times(
    const PipelineSchedule& schedule, const PipelineCosts& costs,
    std::vector<size_t>* progress) {
  Run run(schedule, costs);
  const bool finished = run.finish();
  if (progress != nullptr) *progress = run.progress();
  if (!finished) return std::nullopt;
  return run.times_of_ranks();
}

double makespan(const std::vector<std::vector<TimedAction>>& times) {
  double end = 0;
  for (const auto& rank : times) {
    if (!rank.empty()) end = std::max(end, rank.back().end);
  }
  return end;
}

std::vector<PipelineAction> order_of_starts(const PipelineSchedule& schedule) {
  size_t stages = 0;
  for (const auto& rank : schedule) {
    for (const PipelineAction& action : rank) {
      stages = std::max(stages, static_cast<size_t>(action.stage) + 1);
    }
  }
  const PipelineCosts costs{std::vector<double>(stages, 1),
                            std::vector<double>(stages, 2)};
  std::vector<TimedAction> all;
  const auto times = pipeline_times(schedule, costs).value();
  for (const auto& rank : times) all.insert(all.end(), rank.begin(), rank.end());
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.start < b.start; });
  std::vector<PipelineAction> order;
  for (const TimedAction& timed : all) order.push_back(timed.action);
  return order;
}

int live_micro_batches(const std::vector<PipelineAction>& rank) {
  int live = 0, most = 0;
  for (const PipelineAction& action : rank) {
    // The weights' gradients need the activations, too.
    live += action.op == Op::forward;
    live -= action.op == Op::backward || action.op == Op::weight_backward;
    most = std::max(most, live);
  }
  return most;
}

}  // namespace lockstep::plan
