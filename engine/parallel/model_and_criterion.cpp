// The loss on every device: targets go there, and scalars come back.
// Source: PyTorch-Encoding, encoding/parallel.py.
#include "engine/parallel/model_and_criterion.h"

#include <stdexcept>
#include <utility>

#include "engine/autograd/node.h"
#include "engine/ops/ops.h"
#include "engine/plan/chunk.h"
#include "tracer/record/recorder.h"

namespace lockstep::parallel {

DataParallelModel::DataParallelModel(nn::ModulePtr module, Devices device_ids)
    : DataParallel(std::move(module), std::move(device_ids)) {
  register_forward_hook([this](nn::Module&, const Tensor&, const Tensor&) {
    if (outputs_.empty()) return Tensor();  // a single device: recorded already
    int64_t& bytes = tracer::step_facts().output_bytes = 0;
    for (const Tensor& output : outputs_) bytes += output.nbytes();
    return Tensor();
  });
}

std::vector<Tensor> DataParallelModel::outputs_of(const Tensor& input) {
  outputs_.clear();
  const Tensor first = (*this)(input);
  if (outputs_.empty()) return {first};
  return std::exchange(outputs_, {});
}

Tensor DataParallelModel::gather(const Tensors& outputs) {
  outputs_ = outputs;
  return outputs[0];
}

namespace {

/// PyTorch's criterion, as the replica of one device: it holds its chunk's target.
class CrossEntropyLoss : public nn::Module {
 public:
  CrossEntropyLoss(Tensor target, double label_smoothing)
      : target_(std::move(target)), label_smoothing_(label_smoothing) {}

  Tensor forward(const Tensor& output) override {
    return ops::cross_entropy(output, target_, ops::Reduction::mean, label_smoothing_);
  }
  const char* type_name() const override { return "CrossEntropyLoss"; }
  nn::ModulePtr make_like() const override {
    return std::make_shared<CrossEntropyLoss>(target_, label_smoothing_);
  }

 private:
  Tensor target_;
  double label_smoothing_;
};

}  // namespace

Tensor DataParallelCriterion::operator()(const Tensors& outputs,
                                         const Tensors& targets) const {
  if (outputs.size() != targets.size()) {
    throw std::runtime_error(
        "DataParallelCriterion: " + std::to_string(outputs.size()) + " outputs, but " +
        std::to_string(targets.size()) + " chunks of targets");
  }
  std::vector<nn::ModulePtr> replicas;
  for (const Tensor& target : targets) {
    replicas.push_back(std::make_shared<CrossEntropyLoss>(target, label_smoothing_));
    replicas.back()->assign_paths("criterion");
  }
  return chunk_criterion()(replicas, outputs);
}

Tensor mean_of_chunks(const std::vector<nn::ModulePtr>& criteria,
                      const Tensors& outputs) {
  const Tensors losses = parallel_apply(criteria, outputs);
  if (losses.size() == 1) return losses[0];
  return ops::scale(reduce(losses), 1.0 / static_cast<double>(losses.size()));
}

Tensors scatter_targets(const Tensor& targets, const Devices& devices) {
  const CategoryScope category(MemoryCategory::inputs);
  Tensors chunks;
  int64_t start = 0;
  for (int64_t size : plan::chunk_sizes(targets.size(0), devices.size())) {
    chunks.push_back(ops::copy_to(targets.narrowed(start, size), devices[chunks.size()],
                                  {"targets", "labels"}));
    start += size;
  }
  return chunks;
}

Tensor reduce_add(const Tensors& scalars, const ops::CopyLabel& label) {
  Tensor sum = scalars[0].detach();
  for (size_t i = 1; i < scalars.size(); ++i) {
    sum = ops::add(sum, ops::copy_to(scalars[i].detach(), sum.device(), label));
  }
  return sum;
}

Tensor reduce(const Tensors& losses) {
  const Tensor sum = reduce_add(losses, {"loss", "loss"});
  Devices devices;
  for (const Tensor& loss : losses) devices.push_back(loss.device());
  autograd::set_history(
      "ReduceBackward", losses, {sum}, tracer::innermost_event(), [=](Tensors grads) {
        Tensors copies;
        for (const Device device : devices) {
          copies.push_back(ops::copy_to(grads[0], device, {"loss_grad", "loss"}));
        }
        return copies;
      });
  return sum;
}

runtime::Slot<decltype(mean_of_chunks)>& chunk_criterion() {
  static runtime::Slot<decltype(mean_of_chunks)> in_use("chunk_criterion",
                                                        mean_of_chunks);
  return in_use;
}

}  // namespace lockstep::parallel
