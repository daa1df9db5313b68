// The replicas compute the loss: scalars are gathered, and their mean is taken.
#include "engine/parallel/loss_in_forward.h"

#include <stdexcept>
#include <utility>

#include "engine/autograd/node.h"
#include "engine/ops/op_call.h"
#include "engine/ops/ops.h"
#include "tracer/record/recorder.h"

namespace lockstep::parallel {
namespace {

/// A replica followed by the criterion, for the targets of its chunk. Stores the
/// replica's output in `output`.
class ModelWithLoss : public nn::Module {
 public:
  ModelWithLoss(nn::ModulePtr model, Tensor target, double label_smoothing,
                Tensor& output)
      : model_(std::move(model)),
        target_(std::move(target)),
        label_smoothing_(label_smoothing),
        output_(output) {}

  Tensor forward(const Tensor& images) override {
    output_ = (*model_)(images);
    return ops::cross_entropy(output_, target_, ops::Reduction::mean, label_smoothing_);
  }
  const char* type_name() const override { return "ModelWithLoss"; }
  nn::ModulePtr make_like() const override {
    return std::make_shared<ModelWithLoss>(model_->make_like(), target_,
                                           label_smoothing_, output_);
  }

 private:
  const nn::ModulePtr model_;
  const Tensor target_;
  const double label_smoothing_;
  Tensor& output_;
};

/// Gathers scalars as the elements of a vector on device `to`.
Tensor gather_scalars(const Tensors& scalars, Device to) {
  const auto count = static_cast<int64_t>(scalars.size());
  const Tensor joined = Tensor::empty({{count}, scalars[0].dtype(), nullptr}, to);
  Devices devices;
  for (const Tensor& scalar : scalars) {
    const auto place = static_cast<int64_t>(devices.size());
    ops::copy_into(scalar.detach().reshaped({1}), joined.narrowed(place, 1),
                   {"loss", "loss"});
    devices.push_back(scalar.device());
  }
  autograd::set_history(
      "GatherBackward", scalars, {joined}, tracer::innermost_event(),
      [=](Tensors grads) {
        const Tensor grad = ops::contiguous(grads[0]);
        Tensors pieces;
        for (const Device device : devices) {
          const auto place = static_cast<int64_t>(pieces.size());
          const Tensor piece = grad.narrowed(place, 1).reshaped({});
          pieces.push_back(ops::copy_to(piece, device, {"loss_grad", "loss"}));
        }
        return pieces;
      });
  return joined;
}

}  // namespace

LossInForward::LossInForward(nn::ModulePtr module, Devices device_ids,
                             double label_smoothing)
    : DataParallelModel(std::move(module), std::move(device_ids)),
      label_smoothing_(label_smoothing) {}

Tensor LossInForward::losses_of(const Tensor& images, const Tensors& targets) {
  targets_ = targets;
  outputs_.assign(targets.size(), {});
  Tensor losses = (*this)(images);
  if (device_ids().size() == 1) {  // DataParallel has called the module itself
    outputs_ = {losses};
    losses =
        ops::cross_entropy(losses, targets[0], ops::Reduction::mean, label_smoothing_);
  }
  int64_t& bytes = tracer::step_facts().output_bytes = 0;
  for (const Tensor& output : outputs_) bytes += output.nbytes();
  return losses;
}

std::vector<nn::ModulePtr> LossInForward::prepare(std::vector<nn::ModulePtr> replicas) {
  if (replicas.size() != targets_.size()) {
    throw std::runtime_error("LossInForward: " + std::to_string(replicas.size()) +
                             " chunks of images, but " +
                             std::to_string(targets_.size()) + " of targets");
  }
  for (size_t i = 0; i < replicas.size(); ++i) {
    replicas[i] = std::make_shared<ModelWithLoss>(replicas[i], targets_[i],
                                                  label_smoothing_, outputs_[i]);
  }
  return replicas;
}

Tensor LossInForward::gather(const Tensors& losses) {
  tracer::Phase phase("gather");
  return losses.size() == 1 ? losses[0] : gather_scalars(losses, output_device());
}

Tensor mean(const Tensor& vector, std::source_location site) {
  if (vector.dim() == 0) return vector;
  const int64_t count = vector.size(0);
  const double share = 1.0 / static_cast<double>(count);
  ops::OpCall op("aten::mean", {vector}, site);
  const Tensor values = vector.detach();
  Tensor sum = values.narrowed(0, 1).reshaped({});
  for (int64_t i = 1; i < count; ++i) {
    sum = ops::compute_one(OpCode::add, {sum, values.narrowed(i, 1).reshaped({})}, {});
  }
  const Tensor result = ops::compute_one(OpCode::scale, {sum}, {}, {}, {share});
  autograd::set_history(
      "MeanBackward0", {vector}, {result}, op.id(), [=](Tensors grads) -> Tensors {
        const Tensor each =
            Tensor::empty({{count}, grads[0].dtype(), nullptr}, grads[0].device());
        for (int64_t i = 0; i < count; ++i) {
          ops::compute_into(OpCode::scale, {grads[0]},
                            {each.narrowed(i, 1).reshaped({})}, {}, {share});
        }
        return {each};
      });
  return result;
}

}  // namespace lockstep::parallel
