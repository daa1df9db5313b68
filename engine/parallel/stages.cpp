#include "engine/parallel/stages.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "engine/autograd/node.h"
#include "engine/nn/init.h"

namespace lockstep::parallel {

Tensor Stage::forward(Tensor x) const {
  for (const nn::Part& part : parts) x = part(x);
  return x;
}

void Stage::to(Device device) const {
  for (const nn::Part& part : parts) {
    if (part.module) part.module->to(device);
  }
}

namespace {

/// The end of a stage's tape: keeps the gradient of the stage's input.
class StageInputBackward : public autograd::Node {
 public:
  StageInputBackward(Device device, std::shared_ptr<Tensor> gradient)
      : Node("StageInputBackward", device), gradient_(std::move(gradient)) {}

  Tensors apply(Tensors grads) override {
    *gradient_ = std::move(grads[0]);
    return {};
  }

 private:
  const std::shared_ptr<Tensor> gradient_;
};

/// Appends `part`, or its own parts if a cut lies inside it.
void append(const nn::Part& part, const std::vector<std::string>& cuts,
            std::vector<nn::Part>& parts) {
  const std::string inside = part.name + ".";
  const bool is_cut =
      part.module && std::any_of(cuts.begin(), cuts.end(), [&](const std::string& cut) {
        return cut.starts_with(inside);
      });
  const auto own = is_cut ? part.module->parts() : std::vector<nn::Part>();
  if (own.empty()) {
    parts.push_back(part);
    return;
  }
  for (nn::Part child : own) {
    child.name = inside + child.name;
    append(child, cuts, parts);
  }
}

std::string names_of(const std::vector<nn::Part>& parts) {
  std::string names;
  for (size_t i = 1; i < parts.size(); ++i) {  // nothing is before the first
    names += (names.empty() ? "" : ", ") + parts[i].name;
  }
  return names;
}

/// Returns ", or inside one, such as layer1.1"; "" if no part can be cut.
std::string example_inside(const std::vector<nn::Part>& parts) {
  for (const nn::Part& part : parts) {
    const auto own = part.module ? part.module->parts() : std::vector<nn::Part>();
    if (own.size() < 2) continue;
    return ", or inside one, such as " + part.name + "." + own[1].name;
  }
  return "";
}

[[noreturn]] void refuse(const std::string& cut, const std::string& why,
                         const std::vector<nn::Part>& parts) {
  throw std::invalid_argument("'" + cut + "' " + why + "; fix: a stage can begin at: " +
                              names_of(parts) + example_inside(parts));
}

}  // namespace

std::vector<TensorSpec> stage_inputs(const nn::Module& model,
                                     const std::vector<std::string>& cuts,
                                     const std::vector<int64_t>& image_shape,
                                     Device unused) {
  nn::Construction only_shapes = nn::construction();
  only_shapes.fill = false;
  const Tensors parameters = model.parameters();
  if (!parameters.empty()) only_shapes.dtype = parameters[0].dtype();
  const nn::ConstructionScope scope(only_shapes);
  const autograd::NoGrad no_grad;
  const nn::ModulePtr copy = model.make_like();
  copy->eval();
  std::vector<int64_t> sizes{1};
  sizes.insert(sizes.end(), image_shape.begin(), image_shape.end());
  Tensor x = Tensor::empty(Shape(sizes), unused, only_shapes.dtype);
  std::vector<TensorSpec> inputs;
  for (const Stage& stage : split_into_stages(*copy, cuts)) {
    inputs.push_back({x.sizes(), x.dtype(), nullptr});
    stage.to(unused);
    x = stage.forward(x);
  }
  return inputs;
}

Tensor begin_tape(const Tensor& x, const std::shared_ptr<Tensor>& gradient) {
  Tensor input = x.detach();
  if (!autograd::grad_enabled()) return input;
  input.meta().grad_fn = std::make_shared<StageInputBackward>(x.device(), gradient);
  return input;
}

std::vector<nn::Part> parts_of(const nn::Module& model,
                               const std::vector<std::string>& cuts) {
  std::vector<nn::Part> parts;
  for (const nn::Part& part : model.parts()) append(part, cuts, parts);
  return parts;
}

std::vector<Stage> split_into_stages(const nn::Module& model,
                                     const std::vector<std::string>& cuts) {
  std::vector<nn::Part> parts = parts_of(model, cuts);
  if (parts.size() < 2) {
    throw std::invalid_argument(std::string(model.type_name()) +
                                " has no parts between which it can be cut");
  }
  std::vector<Stage> stages(1);
  size_t next = 0;  // cut
  for (const nn::Part& part : parts) {
    if (next < cuts.size() && part.name == cuts[next]) {
      if (stages.back().parts.empty()) refuse(cuts[next], "is the first part", parts);
      stages.emplace_back();
      ++next;
    }
    stages.back().parts.push_back(part);
  }
  if (next == cuts.size()) return stages;
  const bool exists =
      std::any_of(parts.begin(), parts.end(),
                  [&](const nn::Part& part) { return part.name == cuts[next]; });
  refuse(cuts[next],
         exists ? "does not come after '" + cuts[next - 1] + "'"
                : std::string("is not a part of ") + model.type_name(),
         parts);
}

}  // namespace lockstep::parallel
