// Lesson 08: SyncBatchNorm. Every rank has a part of the batch; normalise by the whole.
#include "engine/distributed/ddp/sync_batch_norm.h"
#include "lessons/plugin.h"

using namespace lockstep;
using distributed::BackwardSums;
using distributed::BatchStatistics;
using distributed::CollectiveLabel;
using distributed::ProcessGroup;
using distributed::ReduceOp;

/// Combines the statistics of this rank's part of the batch (`mine.mean` and
/// `mine.var`: C values each; `mine.count`: one value, the number of elements per
/// channel here) into those of all ranks' parts together. The parts may have different
/// sizes. `var` is the mean of (x − mean)² in both: biased. The engine computes the
/// unbiased running variance itself, using your `count`.
///
/// Tensors live on this rank's device. You may use
///   ops::add(a, b), ops::sub(a, b)      element by element
///   ops::mul(a, b), ops::div(a, b)      the same; b may be a single number (`count`)
///   ops::cat({a, b, …})                 one flat tensor, one after the other
///   flat.narrowed(first, length)        a part of it, as a view
///   group.all_reduce(flat, ReduceOp::sum, label).wait()
///     in place: afterwards `flat` holds the sum over all ranks, on all ranks. wait()
///     makes the device's next operations wait for it; the host goes on.
///   group.size(), flat.numel()
/// A message costs its latency, however few values it carries: use only one all-reduce
/// per layer.
BatchStatistics sync_statistics(const BatchStatistics& mine, ProcessGroup& group,
                                const CollectiveLabel& label) {
  // [solution-statistics]
  const int64_t channels = mine.mean.numel();
  const Tensor sum = ops::mul(mine.mean, mine.count);
  const Tensor mean_square = ops::add(mine.var, ops::mul(mine.mean, mine.mean));
  const Tensor squares = ops::mul(mean_square, mine.count);

  const Tensor all = ops::cat({sum, squares, mine.count});
  group.all_reduce(all, ReduceOp::sum, label).wait();

  const Tensor count = all.narrowed(2 * channels, 1);
  const Tensor mean = ops::div(all.narrowed(0, channels), count);
  const Tensor var =
      ops::sub(ops::div(all.narrowed(channels, channels), count), ops::mul(mean, mean));
  return {mean, var, count};
  // [/solution-statistics]
  lessons::not_written("sync_statistics: what do the ranks tell each other?");
}

/// The same for backward. This rank has Σ dy and Σ dy · (x − mean) over its own part (C
/// values each); return what the gradient of x needs. Again, use only one message.
BackwardSums sync_backward_sums(const BackwardSums& mine, ProcessGroup& group,
                                const CollectiveLabel& label) {
  // [solution-sums]
  const int64_t channels = mine.dy.numel();
  const Tensor both = ops::cat({mine.dy, mine.dy_xmu});
  group.all_reduce(both, ReduceOp::sum, label).wait();
  return {both.narrowed(0, channels), both.narrowed(channels, channels)};
  // [/solution-sums]
  lessons::not_written("sync_backward_sums: whose gradients does my x see?");
}

LOCKSTEP_LESSON(8) {
  distributed::sync_statistics().plug(sync_statistics);
  distributed::sync_backward_sums().plug(sync_backward_sums);
}
