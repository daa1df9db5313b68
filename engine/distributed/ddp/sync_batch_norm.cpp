#include "engine/distributed/ddp/sync_batch_norm.h"

#include "engine/nn/layers.h"
#include "engine/ops/checks.h"
#include "engine/ops/op_call.h"

namespace lockstep::distributed {
namespace {

using std::source_location;

/// Performs one all-gather of every rank's mean, variance and count: 2C + 1 values. An
/// all-reduce of Σx, Σx² and the count would also work, but E[x²] − E[x]² loses the
/// variance if it is small compared to the mean, and it takes twice as many messages.
BatchStatistics gather_statistics(const BatchStatistics& mine, ProcessGroup& group,
                                  const CollectiveLabel& label) {
  const Tensor row = ops::cat({mine.mean, mine.var, mine.count});
  const Tensor all =
      Tensor::empty({group.size(), row.numel()}, row.device(), row.dtype());
  group.all_gather(all, row, label).wait();

  ops::OpCall op("aten::batch_norm_gather_stats_with_counts", {all},
                 source_location::current());
  const Tensors together =
      ops::compute(OpCode::batch_norm_gather_stats, {all},
                   {mine.mean.spec(), mine.var.spec(), mine.count.spec()});
  return {together[0], together[1], together[2]};
}

/// Performs one all-reduce of 2C values.
BackwardSums reduce_sums(const BackwardSums& mine, ProcessGroup& group,
                         const CollectiveLabel& label) {
  const int64_t channels = mine.dy.numel();
  const Tensor both = ops::cat({mine.dy, mine.dy_xmu});
  group.all_reduce(both, ReduceOp::sum, label).wait();
  return {both.narrowed(0, channels), both.narrowed(channels, channels)};
}

/// Checks the result of a learner's function.
void check_like(const char* slot, const char* what, const Tensor& got,
                const Tensor& mine) {
  ops::check(got.defined(), "{}: `{}` of the result is not set", slot, what);
  ops::check(got.numel() == mine.numel() && got.dtype() == mine.dtype() &&
                 got.device() == mine.device() && got.is_plain(),
             "{}: `{}` of the result must hold {} elements of type {} on {}, not {} of "
             "type {} on {}",
             slot, what, mine.numel(), name(mine.dtype()), mine.device().str(),
             got.numel(), name(got.dtype()), got.device().str());
}

BatchStatistics global_statistics(const Tensor& x, const Tensor& weight,
                                  ProcessGroup& group, const CollectiveLabel& label) {
  BatchStatistics mine;
  {
    ops::OpCall op("aten::batch_norm_stats", {x}, source_location::current());
    const TensorSpec channels = weight.spec(), number{{1}, weight.dtype(), nullptr};
    const Tensors of_x =
        ops::compute(OpCode::batch_norm_stats, {x}, {channels, channels, number});
    mine = {of_x[0], of_x[1], of_x[2]};
  }
  const BatchStatistics all = sync_statistics()(mine, group, label);
  check_like("sync_statistics", "mean", all.mean, mine.mean);
  check_like("sync_statistics", "var", all.var, mine.var);
  check_like("sync_statistics", "count", all.count, mine.count);
  return all;
}

/// State saved for the backward pass.
struct Saved {
  Tensor x, weight;
  BatchStatistics all;
  std::shared_ptr<ProcessGroup> group;
  CollectiveLabel label;
  Attributes attributes;
};

/// The mean and the variance depend on every rank's x, so the gradient of this rank's x
/// depends on every rank's dy.
Tensors backward(const Saved& s, Tensors grads) {
  const Tensor dy = grads[0];
  grads.clear();
  const TensorSpec channels = s.weight.spec();
  const Tensors of_mine =
      ops::compute(OpCode::batch_norm_backward_reduce, {s.x, dy, s.all.mean, s.all.var},
                   {channels, channels, channels, channels}, s.attributes);
  const BackwardSums mine{of_mine[0], of_mine[1]};
  const BackwardSums all = sync_backward_sums()(mine, *s.group, s.label);
  check_like("sync_backward_sums", "dy", all.dy, mine.dy);
  check_like("sync_backward_sums", "dy_xmu", all.dy_xmu, mine.dy_xmu);
  const Tensor dx = ops::compute_one(
      OpCode::batch_norm_backward_elemt,
      {s.x, dy, s.weight, s.all.mean, s.all.var, all.dy, all.dy_xmu, s.all.count},
      s.x.sizes(), s.attributes);
  return {dx, of_mine[2], of_mine[3]};
}

}  // namespace

runtime::Slot<SyncStatistics>& sync_statistics() {
  static runtime::Slot<SyncStatistics> in_use("sync_statistics", gather_statistics);
  return in_use;
}

runtime::Slot<SyncBackwardSums>& sync_backward_sums() {
  static runtime::Slot<SyncBackwardSums> in_use("sync_backward_sums", reduce_sums);
  return in_use;
}

Tensor sync_batch_norm(const Tensor& x, const ops::BatchNormState& s,
                       const std::shared_ptr<ProcessGroup>& group, const char* path,
                       double momentum, double eps, source_location site) {
  ops::check(x.dim() == 4, "expected 4D input (got {}D input)", x.dim());
  ops::check(x.size(1) == s.weight.numel(),
             "running_mean should contain {} elements not {}", x.size(1),
             s.weight.numel());
  ops::OpCall op("SyncBatchNorm", {x, s.weight, s.bias}, site);
  Attributes attributes;
  attributes.eps = eps;
  attributes.momentum = momentum;
  const CollectiveLabel label{.why = "sync_batch_norm", .tensor = path};

  const BatchStatistics all = global_statistics(x, s.weight, *group, label);
  ops::compute_into(OpCode::batch_norm_update, {all.mean, all.var, all.count},
                    {s.running_mean, s.running_var, s.tracked}, attributes);
  Tensor y =
      ops::compute_one(OpCode::batch_norm_eval,
                       {x, s.weight, s.bias, all.mean, all.var}, x.sizes(), attributes);
  const Saved saved{x.detach(), s.weight.detach(), all, group, label, attributes};
  autograd::set_history(
      "SyncBatchNormBackward", {x, s.weight, s.bias}, {y}, op.id(),
      [saved](Tensors grads) { return backward(saved, std::move(grads)); });
  return y;
}

int convert_sync_batchnorm(nn::Module& module,
                           const std::shared_ptr<ProcessGroup>& group) {
  return nn::convert_sync_batchnorm(
      module, [group](const Tensor& input, const ops::BatchNormState& state,
                      const char* path, source_location site) {
        if (group->size() == 1)
          return ops::batch_norm(input, state, true, 0.1, 1e-5, site);
        return sync_batch_norm(input, state, group, path, 0.1, 1e-5, site);
      });
}

}  // namespace lockstep::distributed
