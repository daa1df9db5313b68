#include "engine/optim/sgd.h"

#include <cmath>

#include "engine/autograd/node.h"
#include "engine/ops/op_call.h"

namespace lockstep::optim {

Sgd::Sgd(std::vector<nn::Named<Tensor>> parameters, SgdOptions options)
    : parameters_(std::move(parameters)),
      momentum_buffers_(parameters_.size()),
      options_(options) {}

void Sgd::step(std::source_location site) {
  autograd::NoGrad no_grad;
  CategoryScope category(MemoryCategory::optimizer);
  // A parameter's first step is different: its buffer begins as the gradient itself.
  struct Launch {
    Tensors triples, updated;
  };
  Launch launches[2];
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const Tensor& parameter = parameters_[i].value;
    const Tensor grad = parameter.grad();
    if (!grad.defined()) continue;
    Tensor& buffer = momentum_buffers_[i];
    Launch& launch = launches[buffer.defined() ? 0 : 1];
    if (!buffer.defined()) {
      buffer = Tensor::empty(parameter.spec(), parameter.device());
    }
    const Tensor data = parameter.detach();
    launch.triples.insert(launch.triples.end(), {data, grad.detach(), buffer});
    launch.updated.push_back(data);
  }
  for (int first : {0, 1}) {
    const auto& [triples, updated] = launches[first];
    if (triples.empty()) continue;
    ops::OpCall op("aten::_fused_sgd_", updated, site);
    ops::compute_into(OpCode::sgd, triples, updated, {},
                      {options_.lr, options_.momentum, options_.weight_decay,
                       static_cast<double>(first)});
  }
}

void Sgd::zero_grad() {
  for (auto& [name, parameter] : parameters_) parameter.set_grad(Tensor());
}

double step_lr(double base_lr, int epoch, int step_size, double gamma) {
  return base_lr * std::pow(gamma, epoch / step_size);
}

}  // namespace lockstep::optim
