#include "engine/distributed/ddp/reducer.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "engine/autograd/engine.h"
#include "engine/distributed/collectives/small_collectives.h"
#include "engine/runtime/device_context.h"
#include "tracer/record/recorder.h"

namespace lockstep::distributed {

Reducer::Reducer(Parameters parameters, ProcessGroup& group, ReducerOptions options)
    : parameters_(std::move(parameters)),
      group_(group),
      options_(std::move(options)),
      divisor_(group.size()),
      places_(parameters_.size()) {
  build(plan::first_buckets(bucket_items(parameters_), options_.rule,
                            options_.find_unused_parameters, options_.bucket_cap));
}

void Reducer::build(const std::vector<plan::Bucket>& buckets) {
  buckets_.clear();
  for (const plan::Bucket& members : buckets) {
    for (size_t i = 0; i < members.size(); ++i) {
      places_[members[i]] = {buckets_.size(), i};
    }
    buckets_.push_back({Bucket(buckets_.size(), members, parameters_), 0, {}, {}});
  }
}

// --- the main path, in the order of a step

void Reducer::before_forward() {
  check_finished();
  const bool first_step_over = !ready_order_.empty();
  if (first_step_over && !rebuilt_ && plan::rebuilds(options_.find_unused_parameters)) {
    rebuild();
  }
}

void Reducer::before_backward(const Tensor& output) {
  begin_step();
  if (!options_.find_unused_parameters) return;
  std::vector<bool> reached(parameters_.size(), false);
  const Tensors leaves = autograd::reachable_leaves(output);
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const bool found = std::any_of(leaves.begin(), leaves.end(), [&](const Tensor& t) {
      return t.is(parameters_[i].value);
    });
    if (!found) unused_.push_back(i);
  }
}

void Reducer::gradient_ready(size_t parameter) {
  if (!rebuilt_ && ready_order_.size() < parameters_.size()) {
    ready_order_.push_back(parameter);
  }
  used_[parameter] = true;
  if (!std::exchange(unused_marked_, true)) {
    for (size_t unused : unused_) mark_ready(unused);
  }
  mark_ready(parameter);
}

/// Packs the gradient, divided (if there is no comm hook) so that the sum is the mean.
void Reducer::mark_ready(size_t parameter) {
  if (seen_[parameter]) {
    throw std::runtime_error(fmt::format(
        "Expected to mark a variable ready only once. Parameter {} ({}) was marked "
        "twice: it is used by several backward passes, or the output of forward does "
        "not depend on it",
        parameter, parameters_[parameter].name));
  }
  seen_[parameter] = true;
  const auto [number, member] = places_[parameter];
  Progress& progress = buckets_[number];
  const Tensor& variable = parameters_[parameter].value;
  progress.ready.push_back(
      runtime::context(variable.device()).compute().record_event());
  const double factor = options_.comm_hook ? 1 : 1.0 / divisor_;
  progress.bucket.pack(member, variable.grad(), factor);
  if (--progress.missing == 0) launch_next_buckets();
}

void Reducer::launch_next_buckets() {
  while (next_bucket_ < buckets_.size() && buckets_[next_bucket_].missing == 0) {
    launch(buckets_[next_bucket_++]);
  }
}

void Reducer::launch(Progress& progress) {
  tracer::Phase phase("all_reduce");
  CollectiveLabel label = progress.bucket.label(parameters_, std::move(progress.ready));
  const tracer::Arg number("bucket", label.bucket);
  tracer::mark("bucket_ready", -1, 0, {&number, 1});
  if (!options_.comm_hook) {
    progress.work =
        group_.all_reduce(progress.bucket.flat(), ReduceOp::sum, std::move(label));
    return;
  }
  GradBucket seen{progress.bucket.members()[0], progress.bucket.flat(),
                  std::move(label)};
  seen.index = static_cast<size_t>(number.integer);
  progress.work = options_.comm_hook(group_, seen);
}

void Reducer::after_backward() {
  if (next_bucket_ < buckets_.size()) return;  // see check_finished
  tracer::Phase phase("all_reduce");
  if (options_.find_unused_parameters) share_used_map();
  for (Progress& progress : buckets_) finish(progress);
  unfinished_ = false;
}

/// Copies the sums back to the gradients of the parameters, after the collective and
/// before any later work on the compute stream.
void Reducer::finish(Progress& progress) {
  progress.work.wait();
  const plan::Bucket& members = progress.bucket.members();
  for (size_t i = 0; i < members.size(); ++i) {
    const Tensor& variable = parameters_[members[i]].value;
    Tensor grad = variable.grad();
    if (!used_anywhere_[members[i]]) continue;
    if (options_.gradient_as_bucket_view) {
      variable.set_grad(progress.bucket.view(i));
      continue;
    }
    if (!grad.defined() || !grad.is_plain() || !grad.owns_memory_alone()) {
      grad = Tensor::empty({variable.sizes(), variable.dtype(), nullptr},
                           variable.device(), MemoryCategory::gradients);
      variable.set_grad(grad);
    }
    progress.bucket.unpack(i, grad);
  }
}

// --- setup, checks and rebuilding

void Reducer::begin_step() {
  unfinished_ = true;
  unused_marked_ = false;
  next_bucket_ = 0;
  unused_.clear();
  seen_.assign(parameters_.size(), false);
  used_.assign(parameters_.size(), false);
  used_anywhere_.assign(parameters_.size(), true);
  for (Progress& progress : buckets_) {
    progress.missing = progress.bucket.members().size();
    progress.ready.clear();
  }
}

/// Throws PyTorch's error if the previous step did not reduce all buckets.
void Reducer::check_finished() const {
  if (!unfinished_) return;
  std::string missing;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    if (!seen_[i]) missing += (missing.empty() ? "" : ", ") + parameters_[i].name;
  }
  throw std::runtime_error(fmt::format(
      "Expected to have finished reduction in the prior iteration before starting a "
      "new one. This error indicates that your module has parameters that were not "
      "used in producing loss: {} (rank {}); fix: set find_unused_parameters, or "
      "leave them out of the model",
      missing, group_.rank()));
}

/// All ranks must use the same buckets, but their gradients may have become ready in
/// different orders; therefore all ranks use rank 0's order.
void Reducer::rebuild() {
  std::vector<int64_t> order(ready_order_.begin(), ready_order_.end());
  order = broadcast_integers(group_, parameters_[0].value.device(), order, "rebuild");
  build(plan::rebuilt_buckets(bucket_items(parameters_), {order.begin(), order.end()},
                              options_.bucket_cap));
  rebuilt_ = true;
}

void Reducer::set_ready_order(const std::vector<size_t>& order) {
  if (!plan::rebuilds(options_.find_unused_parameters)) return;
  ready_order_ = order;
  build(plan::rebuilt_buckets(bucket_items(parameters_), order, options_.bucket_cap));
  rebuilt_ = true;
}

/// Finds the parameters used on at least one rank. The others keep their `.grad`.
void Reducer::share_used_map() {
  std::vector<int64_t> used;
  for (bool here : used_) used.push_back(here ? 1 : 0);
  used = sum_integers(group_, parameters_[0].value.device(), used, "used_map");
  for (size_t i = 0; i < used.size(); ++i) used_anywhere_[i] = used[i] > 0;
}

void Reducer::shadow_step() {
  if (ready_order_.size() < parameters_.size()) {
    ready_order_.resize(parameters_.size());
    std::iota(ready_order_.begin(), ready_order_.end(), size_t{0});
  }
  for (Progress& progress : buckets_) {
    progress.bucket.fill_with_zeros();
    progress.ready.clear();
    launch(progress);
    progress.work.wait();
  }
  if (options_.find_unused_parameters) {
    sum_integers(group_, parameters_[0].value.device(),
                 std::vector<int64_t>(parameters_.size(), 0), "used_map");
  }
}

std::unique_ptr<GradientSync> make_reducer(Parameters parameters, ProcessGroup& group,
                                           const ReducerOptions& options) {
  return std::make_unique<Reducer>(std::move(parameters), group, options);
}

}  // namespace lockstep::distributed
