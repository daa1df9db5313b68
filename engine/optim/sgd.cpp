#include "engine/optim/sgd.h"

#include <string_view>
#include <utility>

#include "engine/autograd/node.h"
#include "engine/ops/copy.h"
#include "engine/ops/op_call.h"

namespace lockstep::optim {

Sgd::Sgd(std::vector<nn::Named<Tensor>> parameters, SgdOptions options)
    : parameters_(std::move(parameters)),
      momentum_buffers_(parameters_.size()),
      options_(options) {}

void Sgd::step(std::source_location site) {
  autograd::NoGrad no_grad;
  CategoryScope category(MemoryCategory::optimizer);
  // One launch per group of parameters with the same options. The first step of a
  // parameter differs: its buffer is initialized from the gradient.
  struct Launch {
    Tensors triples, updated;
  };
  std::map<std::pair<bool, double>, Launch>
      launches;  // keyed by first step and weight decay
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const Tensor& parameter = parameters_[i].value;
    const Tensor grad = parameter.grad();
    if (!grad.defined()) continue;
    Tensor& buffer = momentum_buffers_[i];
    const auto other = options_.weight_decay_of.find(parameters_[i].name);
    const double decay =
        other == options_.weight_decay_of.end() ? options_.weight_decay : other->second;
    Launch& launch = launches[{!buffer.defined(), decay}];
    if (!buffer.defined()) {
      buffer = Tensor::empty(parameter.spec(), parameter.device());
    }
    const Tensor data = parameter.detach();
    launch.triples.insert(launch.triples.end(), {data, grad.detach(), buffer});
    launch.updated.push_back(data);
  }
  for (const auto& [kind, launch] : launches) {
    const auto [first, decay] = kind;
    ops::OpCall op("aten::_fused_sgd_", launch.updated, site);
    ops::compute_into(OpCode::sgd, launch.triples, launch.updated, {},
                      {options_.lr, options_.momentum, decay, first ? 1.0 : 0.0});
  }
}

void Sgd::zero_grad() {
  for (auto& [name, parameter] : parameters_) parameter.set_grad(Tensor());
}

std::vector<nn::Named<Tensor>> Sgd::momentum_buffers() const {
  std::vector<nn::Named<Tensor>> buffers;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    if (!momentum_buffers_[i].defined()) continue;
    buffers.push_back({parameters_[i].name, momentum_buffers_[i]});
  }
  return buffers;
}

void Sgd::set_momentum_buffers(const std::vector<nn::Named<Tensor>>& buffers) {
  CategoryScope category(MemoryCategory::optimizer);
  std::map<std::string, Tensor> values;
  for (const auto& [name, value] : buffers) values[name] = value;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const Device device = parameters_[i].value.device();
    const auto found = values.find(parameters_[i].name);
    momentum_buffers_[i] = found == values.end() ? Tensor()
                                                 : ops::copy_to(found->second, device,
                                                                {"h2d", "momentum"});
  }
}

namespace {

void collect(const nn::Module& module, const std::string& prefix,
             std::optional<double> norm, std::optional<double> bias,
             std::map<std::string, double>& decays) {
  const std::string_view type = module.type_name();
  const bool is_norm = type.find("BatchNorm") != type.npos;
  if (module.children().empty()) {
    for (const auto& [name, parameter] : module.named_parameters()) {
      if (is_norm && norm) decays[prefix + name] = *norm;
      if (!is_norm && bias && name == "bias") decays[prefix + name] = *bias;
    }
  }
  for (const auto& [name, child] : module.children()) {
    collect(*child, prefix + name + ".", norm, bias, decays);
  }
}

}  // namespace

std::map<std::string, double> other_weight_decays(const nn::Module& model,
                                                  std::optional<double> norm,
                                                  std::optional<double> bias) {
  std::map<std::string, double> decays;
  collect(model, "", norm, bias, decays);
  return decays;
}

}  // namespace lockstep::optim
