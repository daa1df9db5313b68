// What the ranks of a trainer tell each other in each step: metrics and signals.
#include <cmath>
#include <csignal>

#include "engine/distributed/collectives/small_collectives.h"
#include "engine/train/collect_stages.h"
#include "engine/train/trainer.h"

namespace lockstep::train {

/// Returns what this rank adds to the sum by which all ranks learn of a signal: 1 for
/// an interrupt, and for a termination more than all interrupts together.
int64_t Trainer::own_vote() {
  const int signal = own_stop();
  if (signal == 0) return 0;
  if (options_.stop_notice) options_.stop_notice->give(next_step_ - 1, signal);
  return signal == SIGTERM ? options_.group->size() + 1 : 1;
}
void Trainer::take_votes(int64_t votes) {
  if (options_.stop_notice) return;  // see run()
  all_stop_ = votes > options_.group->size() ? SIGTERM : votes > 0 ? SIGINT : 0;
}

/// Returns whether the batch is empty; with `reduce`, whether any rank's batch is: the
/// ranks skip it together, since each collective needs all of them.
bool Trainer::is_skipped(const data::Batch& batch, bool reduce) {
  const bool empty = batch.size() == 0;
  if (!reduce || !options_.skips_batches) return empty;
  const std::vector<int64_t> sums = distributed::sum_integers(
      *options_.group, options_.devices[0], {empty, own_vote()}, "metrics");
  take_votes(sums[1]);
  return sums[0] > 0;
}

/// Averages the step's metrics over all ranks and determines whether any rank was
/// told to stop: all ranks must stop together, since a rank that continued would wait
/// forever for the others. PyTorch's example prints each rank's own metrics instead.
/// Costs one all-reduce of 40 bytes.
void Trainer::reduce_metrics(StepResult& result) {
  tracer::Phase phase("metrics");
  // Of a pipeline's ranks, only the one with the last stage has metrics. Its weight is
  // 1, so that they reach the others unchanged.
  const auto n = !has_remote_stages()      ? static_cast<double>(result.batch)
                 : pipeline_->has_output() ? 1.0
                                           : 0.0;
  const std::vector<double> sums =
      distributed::sum_reals(*options_.group, options_.devices[0],
                             {result.loss * n, result.acc1 * n, result.acc5 * n, n,
                              static_cast<double>(own_vote())},
                             "metrics");
  take_votes(std::llround(sums[4]));
  if (sums[3] == 0) return;  // the device of the last stage computes nothing
  result.loss = sums[0] / sums[3];
  result.acc1 = sums[1] / sums[3];
  result.acc5 = sums[2] / sums[3];
  if (!has_remote_stages()) result.batch = static_cast<int64_t>(sums[3]);
}

/// Returns what adds up numbers of all stages; empty unless they are on several ranks.
optim::SumOverRanks Trainer::sum_of_stages() const {
  if (!has_remote_stages()) return {};
  const auto add = [group = options_.group](const Tensor& row) {
    group->all_reduce(row, ReduceOp::sum, {"metrics", "norm"}).wait();
  };
  return {options_.devices[0], add};
}

void Trainer::collect_stages() {
  if (!has_remote_stages()) return;
  train::collect_stages(*options_.group, options_.devices[0], *model_, optimizer());
}

}  // namespace lockstep::train
