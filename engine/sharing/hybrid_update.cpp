#include "engine/sharing/hybrid_update.h"

#include <utility>

#include "engine/autograd/node.h"
#include "engine/ops/copy.h"
#include "engine/optim/clip_grad_norm.h"

namespace lockstep::sharing {

HybridUpdate::HybridUpdate(std::shared_ptr<HybridFeatures> features, std::string prefix,
                           const optim::AnyOptions& options)
    : features_(std::move(features)), prefix_(std::move(prefix)), options_(options) {}

std::vector<Tensors> HybridUpdate::others() const {
  std::vector<Tensors> parameters;
  for (const nn::ModulePtr& replica : features_->replicas()) {
    parameters.push_back(replica->parameters());
  }
  if (!parameters.empty()) parameters.erase(parameters.begin());
  return parameters;
}

void HybridUpdate::zero_grad() {
  for (const Tensors& replica : others()) {
    for (const Tensor& parameter : replica) parameter.set_grad(Tensor());
  }
}

void HybridUpdate::clip(double norm, double max_norm) {
  const autograd::NoGrad no_grad;
  for (const Tensors& replica : others()) {
    optim::scale_to_norm_(replica, norm, max_norm);
  }
}

void HybridUpdate::step(const optim::Optimizer& main) {
  if (optimizers_.empty()) create_optimizers(main);
  for (const auto& optimizer : optimizers_) {
    optimizer->set_lr(main.lr());
    optimizer->set_momentum(main.momentum());
    optimizer->step();
  }
}

void HybridUpdate::create_optimizers(const optim::Optimizer& main) {
  std::vector<nn::Named<Tensor>> state;
  for (const auto& [name, tensor] : main.state()) {
    if (name.find("." + prefix_) == name.npos) continue;  // of the classifier
    state.push_back({name, ops::copy_to(tensor, kHost, {"d2h", "optimizer"})});
  }
  for (const Tensors& replica : others()) {
    auto named = features_->named_parameters();
    for (size_t i = 0; i < named.size(); ++i) {
      named[i] = {prefix_ + named[i].name, replica[i]};
    }
    optimizers_.push_back(optim::make_optimizer(named, options_));
    optimizers_.back()->set_state(state);
  }
}

}  // namespace lockstep::sharing
