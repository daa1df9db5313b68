#include "engine/optim/weight_average.h"

#include <map>
#include <utility>

#include "engine/autograd/node.h"
#include "engine/ops/copy.h"
#include "engine/ops/op_call.h"
#include "engine/ops/ops.h"

namespace lockstep::optim {
WeightAverage::WeightAverage(nn::ModulePtr model, double decay, int64_t every)
    : model_(std::move(model)), decay_(decay), every_(every) {}

std::vector<nn::Named<Tensor>> WeightAverage::weights() const {
  std::vector<nn::Named<Tensor>> all = model_->named_parameters();
  for (auto& buffer : model_->named_buffers()) {
    if (buffer.value.dtype() != DType::i64) all.push_back(buffer);
  }
  return all;
}

void WeightAverage::after_update() {
  if (++steps_ % every_ != 0) return;
  const autograd::NoGrad no_grad;
  const CategoryScope category(MemoryCategory::optimizer);
  const auto current = weights();
  const bool first = average_.empty();
  const ops::OpEvent event(first ? "aten::copy_" : "aten::_foreach_lerp_",
                           {current[0].value}, std::source_location::current());
  for (size_t i = 0; i < current.size(); ++i) {
    const Tensor now = current[i].value.detach();
    if (first) {
      average_.push_back(ops::scale(now, 1));
    } else {
      ops::compute_into(OpCode::scale, {average_[i]}, {average_[i]}, {}, {decay_});
      ops::add_(average_[i], ops::scale(now, 1 - decay_));
    }
  }
}

void WeightAverage::swap() {
  const auto current = weights();
  for (size_t i = 0; i < current.size(); ++i) {
    const Tensor now = current[i].value.detach();
    Tensor(current[i].value).set_data(std::exchange(average_[i], now));
  }
}

std::vector<nn::Named<Tensor>> WeightAverage::state() const {
  if (steps_ == 0) return {};
  std::vector<nn::Named<Tensor>> all{
      {kSteps, Tensor::scalar(static_cast<double>(steps_), DType::i64)}};
  const auto current = weights();
  for (size_t i = 0; i < average_.size(); ++i) {
    all.push_back({current[i].name, average_[i]});
  }
  return all;
}

void WeightAverage::set_state(const std::vector<nn::Named<Tensor>>& state) {
  const CategoryScope category(MemoryCategory::optimizer);
  std::map<std::string, Tensor> values;
  for (const auto& [name, value] : state) values[name] = value;
  average_.clear();
  const auto steps = values.find(kSteps);
  steps_ = steps == values.end() ? 0 : *steps->second.data<int64_t>();
  if (values.size() <= 1) return;
  for (const auto& [name, tensor] : weights()) {
    average_.push_back(
        ops::copy_to(values.at(name), tensor.device(), {"h2d", "weights"}));
  }
}

}  // namespace lockstep::optim
