// Lesson 24: three programs that must not hang, and a watchdog that says who is
// missing.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "lessons/plugin.h"

using namespace lockstep;

/// What a rank does together with the others. Each of the three is a collective: it
/// returns when all ranks have called it. (Do not change this struct.)
struct Group {
  int rank = 0, size = 1;
  std::function<double(double)> sum, min, max;  ///< of the numbers of all ranks
};

/// This rank's model, in DistributedDataParallel. (Do not change this struct.)
struct Model {
  /// A training step. Its backward pass all-reduces the gradients: a collective.
  std::function<void(int batch)> step;
  /// The accuracy on the whole test set. Before its forward pass,
  /// DistributedDataParallel broadcasts the buffers: a collective.
  std::function<double()> evaluate;
  /// The same with the module inside. No collective.
  std::function<double()> evaluate_module;
};

/// An epoch: a step with each of this rank's batches, in their order. Ranks may have
/// different numbers of them. All make as many steps as the rank with the fewest, and
/// the last batches of the others are left out.
void train_epoch(const Group& group, const Model& model,
                 const std::vector<int>& batches) {
  // [solution-epoch]
  const auto steps =
      static_cast<size_t>(group.min(static_cast<double>(batches.size())));
  for (size_t i = 0; i < steps; ++i) model.step(batches[i]);
  return;
  // [/solution-epoch]
  lessons::not_written("train_epoch: how do the ranks agree on the number of steps?");
}

/// Rank 0 evaluates the model, once, and no other rank does. Returns the accuracy on
/// all ranks: they all decide with it whether to stop.
double evaluate_on_rank_0(const Group& group, const Model& model) {
  // [solution-evaluate]
  return group.sum(group.rank == 0 ? model.evaluate_module() : 0);
  // [/solution-evaluate]
  lessons::not_written("evaluate_on_rank_0: which collectives does rank 0 call alone?");
}

/// A step, unless the loss of some rank is not a finite number: its gradients would be
/// in everybody's mean. `loss` is this rank's. Returns whether the step was made.
bool careful_step(const Group& group, const Model& model, int batch, double loss) {
  // [solution-step]
  if (group.max(std::isfinite(loss) ? 0 : 1) > 0) return false;
  model.step(batch);
  return true;
  // [/solution-step]
  lessons::not_written("careful_step: who must know that a loss is not finite?");
}

/// The collectives that a rank has begun, in order, such as `all_reduce 2048` and
/// `broadcast 40`.
using Calls = std::vector<std::string>;

struct Missing {
  int64_t call = -1;       ///< number of the collective, counted from 0
  std::vector<int> ranks;  ///< ascending
};

/// Nobody makes any progress. `calls[r]` is what rank r has begun until now; it is in
/// the last one, or its program has ended. Returns the first collective that not all
/// ranks have begun alike, and the ranks that are missing in it:
///   those that have not begun so many, if there are any;
///   otherwise those that have begun another one than most ranks. If no collective was
///   begun by more than half of the ranks, all of them.
/// Returns {-1, {}} if all ranks have begun the same: then no rank is missing.
Missing watchdog(const std::vector<Calls>& calls) {
  // [solution-watchdog]
  size_t most = 0;
  for (const Calls& of_rank : calls) most = std::max(most, of_rank.size());
  for (size_t i = 0; i < most; ++i) {
    std::map<std::string, size_t> count;
    Missing missing{static_cast<int64_t>(i), {}};
    for (size_t r = 0; r < calls.size(); ++r) {
      if (calls[r].size() > i) {
        ++count[calls[r][i]];
      } else {
        missing.ranks.push_back(static_cast<int>(r));
      }
    }
    if (!missing.ranks.empty()) return missing;
    if (count.size() == 1) continue;
    for (size_t r = 0; r < calls.size(); ++r) {
      if (count[calls[r][i]] * 2 <= calls.size()) {
        missing.ranks.push_back(static_cast<int>(r));
      }
    }
    return missing;
  }
  return {};
  // [/solution-watchdog]
  lessons::not_written("watchdog: where do the ranks' lists differ first?");
}

// The tests find your code through these functions; do not change them.
extern "C" void lesson_train_epoch(const Group& group, const Model& model,
                                   const std::vector<int>& batches) {
  train_epoch(group, model, batches);
}
extern "C" double lesson_evaluate(const Group& group, const Model& model) {
  return evaluate_on_rank_0(group, model);
}
extern "C" bool lesson_careful_step(const Group& group, const Model& model, int batch,
                                    double loss) {
  return careful_step(group, model, batch, loss);
}
extern "C" int64_t lesson_watchdog(const std::vector<Calls>& calls,
                                   std::vector<int>& ranks) {
  const Missing missing = watchdog(calls);
  ranks = missing.ranks;
  return missing.call;
}

LOCKSTEP_LESSON(24) {}
