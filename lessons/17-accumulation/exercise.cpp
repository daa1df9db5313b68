// Lesson 17: gradient accumulation. Several micro-batches, one step, one message.
#include <memory>
#include <utility>
#include <vector>

#include "engine/autograd/engine.h"
#include "engine/distributed/collectives/process_group.h"
#include "engine/nn/module.h"
#include "engine/ops/ops.h"
#include "engine/optim/optimizer.h"
#include "lessons/plugin.h"

using namespace lockstep;

/// A part of a rank's batch, on the rank's device.
struct MicroBatch {
  Tensor images, labels;
};

/// DistributedDataParallel without buckets: after a backward pass, every parameter's
/// gradient is the mean over all ranks. Unless `sync` was false.
class Averaged {
 public:
  Averaged(nn::ModulePtr module, std::shared_ptr<distributed::ProcessGroup> group)
      : module_(std::move(module)), group_(std::move(group)) {
    for (const auto& [name, parameter] : module_->named_parameters()) {
      parameter.meta().post_accumulate_hooks.push_back(
          [this](const Tensor&) { gradient_ready(); });
    }
  }

  bool sync = true;  ///< whether the passes that begin now average their gradients

  /// Calls the model. Whether the backward pass of this forward pass averages is
  /// decided here, and noted in `averages_`: by then, `sync` may have changed.
  Tensor operator()(const Tensor& images) {
    // [solution-forward]
    averages_ = sync;
    return (*module_)(images);
    // [/solution-forward]
    lessons::not_written("operator(): note what this pass will do, and call the model");
  }

  /// Backward has added to a parameter's `.grad`. The first time in a backward pass
  /// that averages, `autograd::queue_callback([this] { average(); })` has `average`
  /// called when the pass is over; `queued_` notes that this was done.
  void gradient_ready() {
    // [solution-ready]
    if (!averages_ || queued_) return;
    queued_ = true;
    autograd::queue_callback([this] { average(); });
    return;
    // [/solution-ready]
    lessons::not_written("gradient_ready: ask for average(), once, if this pass does");
  }

 private:
  /// Given. Replaces every gradient by its mean over all ranks.
  void average() {
    queued_ = false;
    for (const auto& [name, parameter] : module_->named_parameters()) {
      const Tensor mean =
          ops::contiguous(ops::scale(parameter.grad(), 1.0 / group_->size()));
      distributed::CollectiveLabel label;
      label.tensor = name;
      label.params = {name};
      group_->all_reduce(mean, distributed::ReduceOp::sum, label).wait();
      parameter.set_grad(mean);
    }
  }

  nn::ModulePtr module_;
  std::shared_ptr<distributed::ProcessGroup> group_;
  bool averages_ = false;  ///< decided by the last forward pass
  bool queued_ = false;    ///< average() will be called when this backward pass ends
};

/// Python's `with model.no_sync():`. Forward passes during its lifetime do not average;
/// afterwards, everything is as it was before it.
class NoSync {
 public:
  explicit NoSync(Averaged& model) : model_(model) {
    // [solution-enter]
    before_ = model_.sync;
    model_.sync = false;
    return;
    // [/solution-enter]
    lessons::not_written("NoSync: switch averaging off");
  }
  ~NoSync() {
    // [solution-leave]
    model_.sync = before_;
    // [/solution-leave]
  }

 private:
  Averaged& model_;
  bool before_ = true;
};

/// Makes one optimizer step from all micro-batches of this rank, as if they were one
/// batch: its loss is the mean over all rows. All ranks have equally many micro-batches
/// and rows; a rank's micro-batches may differ in size. Gradients are averaged once.
///
/// `ops::cross_entropy(outputs, labels)` is the mean over the rows of a micro-batch
/// (`labels.size(0)`), `ops::scale(x, factor)` multiplies. `.backward()` *adds* to the
/// gradients, and frees the activations of its micro-batch: call it before the next
/// one's forward pass. Inside of a caller's NoSync, no pass averages.
void train_step(Averaged& model, optim::Optimizer& optimizer,
                const std::vector<MicroBatch>& parts) {
  // [solution-step]
  int64_t rows = 0;
  for (const MicroBatch& part : parts) rows += part.labels.size(0);
  optimizer.zero_grad();
  for (size_t i = 0; i < parts.size(); ++i) {
    std::unique_ptr<NoSync> alone;
    if (i + 1 < parts.size()) alone = std::make_unique<NoSync>(model);
    const Tensor mean = ops::cross_entropy(model(parts[i].images), parts[i].labels);
    const auto share = static_cast<double>(parts[i].labels.size(0)) / rows;
    ops::scale(mean, share).backward();
  }
  optimizer.step();
  return;
  // [/solution-step]
  lessons::not_written(
      "train_step: which pass averages, and what is each one's share?");
}

// The tests find your code through these functions; do not change them.
extern "C" Averaged* lesson_wrap(
    const nn::ModulePtr& module,
    const std::shared_ptr<distributed::ProcessGroup>& group) {
  return new Averaged(module, group);
}
extern "C" void lesson_forward(Averaged& model, const Tensor& input, Tensor& output) {
  output = model(input);
}
extern "C" NoSync* lesson_no_sync(Averaged& model) { return new NoSync(model); }
extern "C" void lesson_end(NoSync* guard) { delete guard; }
extern "C" void lesson_step(Averaged& model, optim::Optimizer& optimizer,
                            const std::vector<std::pair<Tensor, Tensor>>& parts) {
  std::vector<MicroBatch> mine;
  for (const auto& [images, labels] : parts) mine.push_back({images, labels});
  train_step(model, optimizer, mine);
}

LOCKSTEP_LESSON(17) {}
