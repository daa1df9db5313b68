#include "engine/plan/pipeline_sends.h"

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <tuple>

namespace lockstep::plan {
namespace {

using Op = PipelineOp;
using Kind = PipelineInstruction::Kind;

/// What exists on a rank: direction (forward?), stage, micro-batch.
using Item = std::tuple<bool, int, int>;

/// Where each stage is, and what an action takes and gives.
class Placement {
 public:
  template <typename EachAction>
  explicit Placement(EachAction each_action) {
    each_action([this](size_t rank, const PipelineAction& action) {
      rank_of_[action.stage] = rank;
      last_ = std::max(last_, action.stage);
    });
  }

  /// Returns what an action waits for: the output of the stage before, or the gradient
  /// of the stage behind.
  std::optional<Item> input(const PipelineAction& action) const {
    const bool forward = action.op == Op::forward;
    if (action.op == Op::weight_backward) return std::nullopt;
    if (action.stage == (forward ? 0 : last_)) return std::nullopt;
    return Item(forward, action.stage + (forward ? -1 : 1), action.micro_batch);
  }

  /// Returns the stage that receives what an action computes, if it is on another rank.
  std::optional<int> receiver(const PipelineAction& action) const {
    if (action.op == Op::weight_backward) return std::nullopt;
    const int stage = action.stage + (action.op == Op::forward ? 1 : -1);
    const auto to = rank_of_.find(stage);
    const bool elsewhere =
        to != rank_of_.end() && to->second != rank_of_.at(action.stage);
    return elsewhere ? std::optional(stage) : std::nullopt;
  }

  size_t rank_of(int stage) const { return rank_of_.at(stage); }

 private:
  std::map<int, size_t> rank_of_;
  int last_ = 0;
};

Item output(const PipelineAction& action) {
  return {action.op == Op::forward, action.stage, action.micro_batch};
}

PipelineInstruction message(Kind kind, int stage, const PipelineAction& action) {
  const Op op = action.op == Op::forward ? Op::forward : Op::backward;
  return {kind, {stage, op, action.micro_batch}};
}

/// Builds the programs of all ranks, one cell of each at a time.
class Lowering {
 public:
  explicit Lowering(const PipelineCells& cells)
      : cells_(cells),
        placement_([&cells](const auto& visit) {
          for (size_t rank = 0; rank < cells.size(); ++rank) {
            for (const auto& cell : cells[rank]) {
              if (cell) visit(rank, *cell);
            }
          }
        }),
        next_(cells.size(), 0),
        here_(cells.size()),
        program_(cells.size()) {}

  PipelineProgram take() {
    for (bool moved = true; moved;) {
      moved = false;
      for (size_t rank = 0; rank < cells_.size(); ++rank) moved |= run_cell(rank);
    }
    for (size_t rank = 0; rank < cells_.size(); ++rank) {
      if (next_[rank] < cells_[rank].size()) throw blocked();
    }
    return std::move(program_);
  }

 private:
  bool run_cell(size_t rank) {
    if (next_[rank] == cells_[rank].size()) return false;
    const auto& cell = cells_[rank][next_[rank]];
    if (cell && !run(rank, *cell)) return false;
    ++next_[rank];
    return true;
  }

  bool run(size_t rank, const PipelineAction& action) {
    const auto input = placement_.input(action);
    if (input && !here_[rank].contains(*input)) return false;
    program_[rank].push_back({Kind::compute, action});
    if (action.op == Op::weight_backward) return true;
    here_[rank].insert(output(action));
    if (const auto to = placement_.receiver(action)) {
      const size_t receiver = placement_.rank_of(*to);
      program_[rank].push_back(message(Kind::send, action.stage, action));
      program_[receiver].push_back(message(Kind::receive, *to, action));
      here_[receiver].insert(output(action));
    }
    return true;
  }

  std::invalid_argument blocked() const {
    PipelineSchedule schedule;
    int micro_batches = 0;
    for (const auto& rank : cells_) {
      auto& actions = schedule.emplace_back();
      for (const auto& cell : rank) {
        if (!cell) continue;
        actions.push_back(*cell);
        micro_batches = std::max(micro_batches, cell->micro_batch + 1);
      }
    }
    return std::invalid_argument(broken_rule(schedule, micro_batches));
  }

  const PipelineCells& cells_;
  const Placement placement_;
  std::vector<size_t> next_;          ///< cell, by rank
  std::vector<std::set<Item>> here_;  ///< computed or received, by rank
  PipelineProgram program_;
};

/// Runs a program: one instruction of each rank per step.
class Simulation {
 public:
  explicit Simulation(const PipelineProgram& program)
      : program_(program),
        placement_([&program](const auto& visit) {
          for (size_t rank = 0; rank < program.size(); ++rank) {
            for (const auto& [kind, action] : program[rank]) visit(rank, action);
          }
        }),
        next_(program.size(), 0),
        here_(program.size()) {}

  std::optional<size_t> steps() {
    size_t steps = 0;
    while (left() > 0) {
      const size_t before = left();
      std::vector<bool> ran(program_.size());
      // A rank that an instruction of a later rank unblocks runs in the same step.
      for (int pass = 0; pass < 2; ++pass) {
        for (size_t rank = 0; rank < program_.size(); ++rank) {
          if (!ran[rank]) ran[rank] = run_next(rank);
        }
      }
      if (left() == before) return std::nullopt;
      ++steps;
    }
    return steps;
  }

 private:
  size_t left() const {
    size_t count = 0;
    for (size_t rank = 0; rank < program_.size(); ++rank) {
      count += program_[rank].size() - next_[rank];
    }
    return count;
  }

  bool run_next(size_t rank) {
    if (next_[rank] == program_[rank].size()) return false;
    const auto& [kind, action] = program_[rank][next_[rank]];
    const bool forward = action.op == Op::forward;
    if (kind == Kind::compute) {
      const auto input = placement_.input(action);
      if (input && !here_[rank].contains(*input)) return false;
      if (action.op != Op::weight_backward) here_[rank].insert(output(action));
    } else if (kind == Kind::send) {
      if (!here_[rank].contains(output(action))) return false;
      sent_.insert(output(action));
    } else {
      const Item item(forward, action.stage + (forward ? -1 : 1), action.micro_batch);
      if (!sent_.contains(item)) return false;
      here_[rank].insert(item);
    }
    ++next_[rank];
    return true;
  }

  const PipelineProgram& program_;
  const Placement placement_;
  std::vector<size_t> next_;
  std::vector<std::set<Item>> here_;
  std::set<Item> sent_;
};

}  // namespace

std::string to_text(const PipelineInstruction& instruction) {
  const PipelineAction& action = instruction.action;
  if (instruction.kind == Kind::compute) return to_text(action);
  return std::to_string(action.stage) +
         (instruction.kind == Kind::send ? "SEND_" : "RECV_") +
         static_cast<char>(action.op) + std::to_string(action.micro_batch);
}

PipelineProgram with_messages(const PipelineCells& cells) {
  return Lowering(cells).take();
}

std::optional<size_t> simulated_steps(const PipelineProgram& program) {
  return Simulation(program).steps();
}

std::vector<std::vector<std::pair<int, int>>> clock_cycles(int micro_batches,
                                                           int stages) {
  std::vector<std::vector<std::pair<int, int>>> cycles;
  for (int cycle = 0; cycle < micro_batches + stages - 1; ++cycle) {
    auto& pairs = cycles.emplace_back();
    for (int stage = 0; stage < stages; ++stage) {
      const int micro_batch = cycle - stage;
      if (micro_batch >= 0 && micro_batch < micro_batches) {
        pairs.emplace_back(micro_batch, stage);
      }
    }
  }
  return cycles;
}

}  // namespace lockstep::plan
