// Orders of a pipeline's passes, and what is wrong with those that a learner has
// written: lesson 18.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "engine/plan/pipeline.h"

namespace lockstep::lessons::lesson_18 {

using Order = std::vector<plan::PipelineAction>;
using plan::PipelineSchedule;

inline std::string text_of(const Order& order) {
  std::string text;
  for (const auto& action : order) text += (text.empty() ? "" : " ") + to_text(action);
  return text;
}

/// Returns the order with `first` forward passes first; then, backward and forward
/// passes take turns.
inline Order alternating(int rank, int first, int parts) {
  Order order;
  for (int m = 0; m < first; ++m) {
    order.push_back({rank, plan::PipelineOp::forward, m});
  }
  for (int m = 0; m < parts; ++m) {
    order.push_back({rank, plan::PipelineOp::backward, m});
    if (first + m < parts) {
      order.push_back({rank, plan::PipelineOp::forward, first + m});
    }
  }
  return order;
}

/// Returns whether a backward pass comes before the forward pass of its micro-batch.
inline bool goes_back_first(const PipelineSchedule& schedule) {
  for (const Order& order : schedule) {
    std::set<int> forward;
    for (const auto& action : order) {
      if (action.op == plan::PipelineOp::forward) forward.insert(action.micro_batch);
      if (!forward.contains(action.micro_batch)) return true;
    }
  }
  return false;
}

/// Returns how many forward passes come before the first backward pass.
inline int first_passes(const Order& order) {
  const auto back =
      std::ranges::find(order, plan::PipelineOp::backward, &plan::PipelineAction::op);
  return static_cast<int>(back - order.begin());
}

inline bool goes_back_in_order(const Order& order) {
  int next = 0;
  for (const auto& action : order) {
    if (action.op != plan::PipelineOp::backward) continue;
    if (action.micro_batch != next++) return false;
  }
  return true;
}

/// Returns the misconception that explains a schedule of 1F1B that takes too long.
inline std::string why_slow(const PipelineSchedule& schedule) {
  const int ranks = static_cast<int>(schedule.size());
  for (int rank = 0; rank < ranks; ++rank) {
    const int first = first_passes(schedule[rank]);
    if (first < ranks - rank) {
      return fmt::format(
          "one of the ranks from rank {} on is idle although there is work: {} forward "
          "pass{} first {} too few for {} ranks, each of which can run one",
          rank, first, first == 1 ? "" : "es", first == 1 ? "is" : "are", ranks - rank);
    }
  }
  if (!std::ranges::all_of(schedule, goes_back_in_order)) {
    return "the micro-batch that came first must go back first: in another order, "
           "gradients come later than they are needed";
  }
  return "after the first forward passes, one backward pass and one forward pass take "
         "turns: two of a kind in a row make a neighbour wait";
}

}  // namespace lockstep::lessons::lesson_18
