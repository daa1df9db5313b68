#include "engine/optim/optimizer.h"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>

#include "engine/autograd/node.h"
#include "engine/ops/copy.h"

namespace lockstep::optim {
namespace {

const std::string kStep = "step";

}  // namespace

Optimizer::Optimizer(std::vector<nn::Named<Tensor>> parameters,
                     std::vector<std::string> state_names, double lr, double momentum,
                     double weight_decay, WeightDecays weight_decay_of)
    : state_names_(std::move(state_names)),
      counts_steps_(!state_names_.empty() && state_names_.back() == kStep),
      lr_(lr),
      momentum_(momentum),
      weight_decay_(weight_decay),
      weight_decay_of_(std::move(weight_decay_of)) {
  for (nn::Named<Tensor>& named : parameters) parameters_.push_back({named, {}, 0});
}

void Optimizer::step(std::source_location site) {
  autograd::NoGrad no_grad;
  CategoryScope category(MemoryCategory::optimizer);
  // By step, weight decay and device: those with the same are updated by one kernel.
  std::map<std::tuple<int64_t, double, Device>, Group> groups;
  for (Parameter& p : parameters_) {
    const Tensor grad = p.named.value.grad();
    if (!grad.defined()) continue;
    ++p.steps;
    // Without `step`, only the first update differs from the others.
    const int64_t step = counts_steps_ ? p.steps : std::min<int64_t>(p.steps, 2);
    const double decay = weight_decay_of(p.named.name);
    Group& group = groups[{step, decay, p.named.value.device()}];
    group.step = step;
    group.weight_decay = decay;
    const Tensor data = p.named.value.detach();
    while (p.state.size() < tensors_of_state()) {
      p.state.push_back(Tensor::empty(data.spec(), data.device()));
    }
    group.tensors.insert(group.tensors.end(), {data, grad.detach()});
    group.tensors.insert(group.tensors.end(), p.state.begin(), p.state.end());
    group.updated.push_back(data);
  }
  for (const auto& [key, group] : groups) update(group, site);
}

void Optimizer::zero_grad() {
  for (const Parameter& p : parameters_) p.named.value.set_grad(Tensor());
}

double Optimizer::weight_decay_of(const std::string& name) const {
  const auto other = weight_decay_of_.find(name);
  return other == weight_decay_of_.end() ? weight_decay_ : other->second;
}

std::vector<nn::Named<Tensor>> Optimizer::state() const {
  std::vector<nn::Named<Tensor>> all;
  for (const Parameter& p : parameters_) {
    if (p.steps == 0) continue;
    for (size_t i = 0; i < p.state.size(); ++i) {
      all.push_back({state_names_[i] + "." + p.named.name, p.state[i]});
    }
    if (!counts_steps_) continue;
    all.push_back({kStep + "." + p.named.name,
                   Tensor::scalar(static_cast<double>(p.steps), DType::i64)});
  }
  return all;
}

void Optimizer::set_state(const std::vector<nn::Named<Tensor>>& state) {
  CategoryScope category(MemoryCategory::optimizer);
  std::map<std::string, Tensor> values;
  for (const auto& [name, value] : state) values[name] = value;
  for (Parameter& p : parameters_) {
    const Device device = p.named.value.device();
    p.state.clear();
    p.steps = 0;
    for (const std::string& part : state_names_) {
      const auto found = values.find(part + "." + p.named.name);
      if (found == values.end()) break;
      if (part == kStep) {
        p.steps = *found->second.data<int64_t>();
        break;
      }
      p.state.push_back(ops::copy_to(found->second, device, {"h2d", "optimizer"}));
      p.steps = 1;
    }
  }
}

namespace {

void collect(const nn::Module& module, const std::string& prefix,
             std::optional<double> norm, std::optional<double> bias,
             WeightDecays& decays) {
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

WeightDecays other_weight_decays(const nn::Module& model, std::optional<double> norm,
                                 std::optional<double> bias) {
  WeightDecays decays;
  collect(model, "", norm, bias, decays);
  return decays;
}

}  // namespace lockstep::optim
