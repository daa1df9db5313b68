// The rules that a pipeline schedule must obey, and what to show where it does not.
#include <algorithm>
#include <map>

#include "engine/plan/pipeline_times.h"

namespace lockstep::plan {
namespace {

using Op = PipelineOp;

/// The place of an action: its rank, and its number among that rank's actions.
struct Place {
  size_t rank, number;
};

/// Draws steps down and ranks across; the action at `wrong` is marked.
std::string grid(const PipelineSchedule& schedule, Place wrong) {
  size_t steps = 0;
  for (const auto& rank : schedule) steps = std::max(steps, rank.size());
  std::string text = "step";
  for (size_t rank = 0; rank < schedule.size(); ++rank) {
    std::string head = "rank " + std::to_string(rank);
    text += "  " + head.append(8 - std::min<size_t>(8, head.size()), ' ');
  }
  for (size_t step = 0; step < steps; ++step) {
    std::string number = std::to_string(step);
    text += "\n" + number.append(4 - std::min<size_t>(4, number.size()), ' ');
    for (size_t rank = 0; rank < schedule.size(); ++rank) {
      std::string cell =
          step < schedule[rank].size() ? to_text(schedule[rank][step]) : "";
      text += "  " + cell.append(8 - std::min<size_t>(8, cell.size()), ' ');
    }
    while (text.back() == ' ') text.pop_back();
    if (step == wrong.number) {
      text += "  <-- ERROR HERE: rank " + std::to_string(wrong.rank);
    }
  }
  return text + "\n";
}

/// Goes through the actions rank by rank. Stops at the first that breaks a rule.
class Rules {
 public:
  Rules(const PipelineSchedule& schedule, int micro_batches)
      : schedule_(schedule), micro_batches_(micro_batches) {
    for (const auto& rank : schedule) actions_ += rank.size();
  }

  std::string broken() {
    for (size_t rank = 0; rank < schedule_.size(); ++rank) {
      for (size_t number = 0; number < schedule_[rank].size(); ++number) {
        const std::string rule = rule_broken_by({rank, number});
        if (!rule.empty()) return shown(rule, {rank, number});
      }
    }
    if (const std::string missing = incomplete_stage(); !missing.empty()) {
      return missing;
    }
    return blocked();
  }

 private:
  struct Passes {
    int forward = 0, backward = 0, input = 0, weight = 0;
  };

  std::string shown(const std::string& rule, Place place) const {
    return to_text(schedule_[place.rank][place.number]) + ": " + rule + "\n" +
           grid(schedule_, place);
  }

  std::string rule_broken_by(Place place) {
    const PipelineAction& action = schedule_[place.rank][place.number];
    if (action.micro_batch >= micro_batches_) return "there is no such micro-batch";
    if (static_cast<size_t>(action.stage) >= actions_) {
      return "there is no stage before it";
    }
    const auto [owner, fresh] = owner_.emplace(action.stage, place.rank);
    if (!fresh && owner->second != place.rank) {
      return "the stage is on rank " + std::to_string(owner->second) + ", too";
    }
    Passes& passes = passes_[{action.stage, action.micro_batch}];
    switch (action.op) {
      case Op::forward:
        return passes.forward++ == 0 ? "" : "the forward pass runs twice";
      case Op::backward:
      case Op::input_backward: {
        if (passes.forward == 0) return "the forward pass comes later, or never";
        if (passes.backward + passes.input > 0) return "the backward pass runs twice";
        ++(action.op == Op::backward ? passes.backward : passes.input);
        return "";
      }
      case Op::weight_backward:
        if (passes.input == 0) return "the gradient of the input comes later, or never";
        return passes.weight++ == 0 ? "" : "the gradient of the weights runs twice";
    }
    return "";
  }

  /// Every micro-batch passes every stage, there and back.
  std::string incomplete_stage() const {
    const int stages = owner_.empty() ? 0 : owner_.rbegin()->first + 1;
    for (int stage = 0; stage < stages; ++stage) {
      for (int m = 0; m < micro_batches_; ++m) {
        const auto found = passes_.find({stage, m});
        const Passes passes = found == passes_.end() ? Passes() : found->second;
        const char* missing = passes.forward == 0                   ? "F"
                              : passes.backward + passes.input == 0 ? "B"
                              : passes.input > passes.weight        ? "W"
                                                                    : nullptr;
        if (missing == nullptr) continue;
        return std::to_string(stage) + missing + std::to_string(m) + " is missing\n";
      }
    }
    return stages > 0 ? "" : "the schedule is empty\n";
  }

  /// All is there, but in an order in which ranks wait for each other.
  std::string blocked() const {
    const size_t stages = owner_.rbegin()->first + 1;
    const PipelineCosts equal{std::vector<double>(stages, 1),
                              std::vector<double>(stages, 1)};
    std::vector<size_t> progress;
    if (pipeline_times(schedule_, equal, &progress)) return "";
    size_t rank = 0;
    while (progress[rank] == schedule_[rank].size()) ++rank;
    return shown("never runs: ranks wait for each other", {rank, progress[rank]});
  }

  const PipelineSchedule& schedule_;
  const int micro_batches_;
  size_t actions_ = 0;
  std::map<int, size_t> owner_;  ///< stage → rank
  std::map<std::pair<int, int>, Passes> passes_;
};

}  // namespace

std::string broken_rule(const PipelineSchedule& schedule, int micro_batches) {
  return Rules(schedule, micro_batches).broken();
}

}  // namespace lockstep::plan
