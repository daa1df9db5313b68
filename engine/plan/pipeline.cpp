#include "engine/plan/pipeline.h"

#include <algorithm>
#include <charconv>
#include <stdexcept>

#include "engine/plan/pipeline_sends.h"

namespace lockstep::plan {
namespace {

using Op = PipelineOp;
using Actions = std::vector<PipelineAction>;

/// Counts micro-batches: each stage takes them in order, once in each direction.
class Counter {
 public:
  explicit Counter(int stages) : next_(stages) {}
  PipelineAction next(int stage, Op op) { return {stage, op, next_[stage]++}; }

 private:
  std::vector<int> next_;
};

/// Runs `warm_up` forward passes, then a pair for each remaining one, then the
/// remaining backward passes. `forward_at` and `backward_at` return the stage of the
/// n-th pass.
template <typename ForwardAt, typename BackwardAt>
Actions warm_up_and_pairs(int passes, int warm_up, int stages, ForwardAt forward_at,
                          BackwardAt backward_at) {
  Actions actions;
  Counter forward(stages), backward(stages);
  int done = 0, returned = 0;
  while (done < warm_up)
    actions.push_back(forward.next(forward_at(done++), Op::forward));
  while (returned < passes) {
    if (done < passes) {
      actions.push_back(forward.next(forward_at(done++), Op::forward));
    }
    actions.push_back(backward.next(backward_at(returned++), Op::backward));
  }
  return actions;
}

/// One stage: after the warm-up, `warm_up` + 1 micro-batches are live before each
/// backward pass.
Actions one_stage(int rank, int micro_batches, int warm_up) {
  const auto stage = [rank](int) { return rank; };
  return warm_up_and_pairs(micro_batches, std::min(warm_up, micro_batches), rank + 1,
                           stage, stage);
}

/// Micro-batches go around in rounds: each round passes all stages of a rank before the
/// next one begins.
Actions interleaved(int rank, int ranks, int micro_batches, int stages_per_rank) {
  const int rounds = std::max(1, micro_batches / ranks);
  const int in_round = micro_batches / rounds;
  const auto forward_at = [=](int pass) {
    return pass / in_round % stages_per_rank * ranks + rank;
  };
  const auto backward_at = [=](int pass) {
    return (stages_per_rank - 1 - pass / in_round % stages_per_rank) * ranks + rank;
  };
  const int passes = stages_per_rank * micro_batches;
  const int warm_up = (stages_per_rank - 1) * in_round + 2 * (ranks - 1 - rank);
  return warm_up_and_pairs(passes, std::min(warm_up, passes), ranks * stages_per_rank,
                           forward_at, backward_at);
}

void require(bool holds, const std::string& rule) {
  if (!holds) throw std::invalid_argument(rule);
}

void check_numbers(PipelineOrder order, int ranks, int micro_batches,
                   int stages_per_rank) {
  require(ranks >= 1 && micro_batches >= 1 && stages_per_rank >= 1,
          "a pipeline needs at least one rank, one micro-batch and one stage per rank");
  const bool rounds = order == PipelineOrder::interleaved;
  require(rounds || stages_per_rank == 1,
          "only the interleaved schedule has several stages per rank");
  require(rounds || order == PipelineOrder::gpipe || micro_batches >= ranks,
          "1F1B needs at least as many micro-batches as ranks");
  require(!rounds || micro_batches % std::max(1, micro_batches / ranks) == 0,
          "the interleaved schedule needs micro-batches that divide into rounds of at "
          "least as many as there are ranks");
}

std::string_view without_blanks(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\r')) {
    text.remove_prefix(1);
  }
  while (!text.empty() && (text.back() == ' ' || text.back() == '\r')) {
    text.remove_suffix(1);
  }
  return text;
}

/// Returns the text up to `end`, and removes it and `end` from `rest`.
std::string_view take(std::string_view& rest, char end) {
  const size_t at = rest.find(end);
  const std::string_view taken = rest.substr(0, at);
  rest.remove_prefix(at == rest.npos ? rest.size() : at + 1);
  return taken;
}

/// Reads a number from the beginning of `text`, or returns false.
bool take_number(std::string_view& text, int& number) {
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || text.front() == '-') return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return true;
}

}  // namespace

std::string to_text(const PipelineAction& action) {
  return std::to_string(action.stage) + static_cast<char>(action.op) +
         std::to_string(action.micro_batch);
}

std::optional<PipelineAction> parse_action(std::string_view text) {
  PipelineAction action;
  if (!take_number(text, action.stage) || text.empty()) return std::nullopt;
  if (std::string_view("FBIW").find(text[0]) == text.npos) return std::nullopt;
  action.op = static_cast<Op>(text[0]);
  text.remove_prefix(1);
  if (!take_number(text, action.micro_batch) || !text.empty()) return std::nullopt;
  return action;
}

PipelineSchedule pipeline_schedule(PipelineOrder order, int ranks, int micro_batches,
                                   int stages_per_rank) {
  check_numbers(order, ranks, micro_batches, stages_per_rank);
  PipelineSchedule schedule;
  for (int rank = 0; rank < ranks; ++rank) {
    const int behind = ranks - 1 - rank;  // stages after this one
    switch (order) {
      case PipelineOrder::gpipe:
        schedule.push_back(one_stage(rank, micro_batches, micro_batches));
        break;
      case PipelineOrder::one_f_one_b:
        schedule.push_back(one_stage(rank, micro_batches, behind));
        break;
      case PipelineOrder::eager_one_f_one_b:
        schedule.push_back(one_stage(rank, micro_batches, 2 * behind));
        break;
      case PipelineOrder::interleaved:
        schedule.push_back(interleaved(rank, ranks, micro_batches, stages_per_rank));
        break;
    }
  }
  return schedule;
}

std::string to_csv(const PipelineSchedule& schedule) {
  std::string text;
  for (const Actions& rank : schedule) {
    for (size_t i = 0; i < rank.size(); ++i) {
      text += (i > 0 ? "," : "") + to_text(rank[i]);
    }
    text += '\n';
  }
  return text;
}

PipelineCells parse_cells(std::string_view csv) {
  PipelineCells cells;
  while (!csv.empty()) {
    std::string_view line = take(csv, '\n');
    if (without_blanks(line).empty()) {
      throw std::invalid_argument("line " + std::to_string(cells.size() + 1) +
                                  " is empty: every rank has a stage");
    }
    auto& rank = cells.emplace_back();
    for (int cell = 1; !line.empty(); ++cell) {
      const std::string_view text = without_blanks(take(line, ','));
      rank.push_back(parse_action(text));
      if (text.empty() || rank.back()) continue;
      throw std::invalid_argument("line " + std::to_string(cells.size()) + ", cell " +
                                  std::to_string(cell) + ": '" +
                                  std::string(text.substr(0, 40)) +
                                  "' is not an action such as 0F0 or 2B7");
    }
  }
  return cells;
}

PipelineSchedule parse_schedule(std::string_view csv) {
  PipelineSchedule schedule;
  for (const auto& cells : parse_cells(csv)) {
    Actions& rank = schedule.emplace_back();
    for (const auto& cell : cells) {
      if (cell) rank.push_back(*cell);
    }
  }
  return schedule;
}

}  // namespace lockstep::plan
