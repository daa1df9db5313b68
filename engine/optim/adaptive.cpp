#include "engine/optim/adaptive.h"

#include <utility>

#include "engine/ops/op_call.h"

namespace lockstep::optim {
namespace {

std::vector<std::string> adam_state(const AdamOptions& o) {
  if (o.amsgrad) return {"exp_avg", "exp_avg_sq", "max_exp_avg_sq", "step"};
  return {"exp_avg", "exp_avg_sq", "step"};
}

std::vector<std::string> rmsprop_state(const RmspropOptions& o) {
  std::vector<std::string> names{"square_avg"};
  if (o.centered) names.emplace_back("grad_avg");
  if (o.momentum > 0) names.emplace_back("momentum_buffer");
  return names;
}

/// The kernel takes this many tensors per parameter.
Attributes tensors_each(size_t all, size_t parameters) {
  Attributes attributes;
  attributes.k = static_cast<int64_t>(all / parameters);
  return attributes;
}

}  // namespace

Adam::Adam(std::vector<nn::Named<Tensor>> parameters, AdamOptions o)
    : Optimizer(std::move(parameters), adam_state(o), o.lr, o.beta1, o.weight_decay,
                o.weight_decay_of),
      options_(std::move(o)) {}

void Adam::update(const Group& group, std::source_location site) {
  const bool decoupled = options_.decoupled;
  ops::OpCall op(decoupled ? "aten::_fused_adamw_" : "aten::_fused_adam_",
                 group.updated, site);
  const double decay = decoupled ? 0 : group.weight_decay;
  const double shrink = decoupled ? 1 - lr() * group.weight_decay : 1;
  ops::compute_into(OpCode::adam, group.tensors, group.updated,
                    tensors_each(group.tensors.size(), group.updated.size()),
                    {lr(), momentum(), options_.beta2, options_.eps, decay,
                     static_cast<double>(group.step), shrink});
}

Rmsprop::Rmsprop(std::vector<nn::Named<Tensor>> parameters, RmspropOptions o)
    : Optimizer(std::move(parameters), rmsprop_state(o), o.lr, o.momentum,
                o.weight_decay, o.weight_decay_of),
      options_(std::move(o)) {}

void Rmsprop::update(const Group& group, std::source_location site) {
  ops::OpCall op("lockstep::_fused_rmsprop_", group.updated, site);
  const double first = group.step == 1, centered = options_.centered;
  ops::compute_into(OpCode::rmsprop, group.tensors, group.updated,
                    tensors_each(group.tensors.size(), group.updated.size()),
                    {lr(), options_.alpha, options_.eps, group.weight_decay, momentum(),
                     first, centered});
}

std::unique_ptr<Optimizer> make_optimizer(std::vector<nn::Named<Tensor>> parameters,
                                          const AnyOptions& options) {
  struct Make {
    std::vector<nn::Named<Tensor>> parameters;
    std::unique_ptr<Optimizer> operator()(const SgdOptions& o) {
      return std::make_unique<Sgd>(std::move(parameters), o);
    }
    std::unique_ptr<Optimizer> operator()(const AdamOptions& o) {
      return std::make_unique<Adam>(std::move(parameters), o);
    }
    std::unique_ptr<Optimizer> operator()(const RmspropOptions& o) {
      return std::make_unique<Rmsprop>(std::move(parameters), o);
    }
  };
  return std::visit(Make{std::move(parameters)}, options);
}

}  // namespace lockstep::optim
