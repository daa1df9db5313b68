#include "engine/nn/module.h"

#include <source_location>

#include "engine/nn/recompute.h"
#include "engine/ops/copy.h"
#include "engine/ops/ops.h"
#include "tracer/record/recorder.h"

namespace lockstep::nn {

std::string Module::repr() const {
  std::string text = std::string(type_name()) + "(" + extra_repr();
  for (const auto& [name, child] : children_) {
    text += "\n  (" + name + "): ";
    for (const char c : child->repr()) text += c == '\n' ? "\n  " : std::string(1, c);
  }
  return text + (children_.empty() ? ")" : "\n)");
}

void Module::collect(std::vector<Named<Tensor>>& out, const std::string& prefix,
                     std::vector<Named<Tensor>> Module::* kind) const {
  for (const auto& [name, tensor] : this->*kind) out.push_back({prefix + name, tensor});
  for (const auto& [name, child] : children_) {
    child->collect(out, prefix + name + ".", kind);
  }
}

std::vector<Named<Tensor>> Module::named_parameters() const {
  std::vector<Named<Tensor>> all;
  collect(all, "", &Module::parameters_);
  return all;
}

std::vector<Named<Tensor>> Module::named_buffers() const {
  std::vector<Named<Tensor>> all;
  collect(all, "", &Module::buffers_);
  return all;
}

Tensors Module::parameters() const {
  Tensors all;
  for (auto& [name, tensor] : named_parameters()) all.push_back(tensor);
  return all;
}

Tensors Module::buffers() const {
  Tensors all;
  for (auto& [name, tensor] : named_buffers()) all.push_back(tensor);
  return all;
}

Tensor Part::operator()(const Tensor& input) const {
  return module ? call_child(module, input) : function(input);
}

std::vector<Part> Module::children_as_parts(const std::string& flattened) const {
  std::vector<Part> parts;
  for (const auto& [name, child] : children_) {
    if (name == flattened) {
      parts.push_back({"flatten", nullptr, [](const Tensor& x) {
                         return ops::flatten(x, std::source_location::current());
                       }});
    }
    parts.push_back({name, child, {}});
  }
  return parts;
}

Module& Module::train(bool on) {
  training_ = on;
  for (auto& [name, child] : children_) child->train(on);
  return *this;
}

Module& Module::to(Device device) {
  auto move = [device](Tensor tensor, MemoryCategory category) {
    if (!tensor.storage()) return;  // of a skeleton
    CategoryScope scope(category);
    tensor.set_data(ops::copy_to(tensor.detach(), device, {"h2d", "model"}));
  };
  for (Tensor& tensor : parameters()) move(tensor, MemoryCategory::parameters);
  for (Tensor& tensor : buffers()) move(tensor, MemoryCategory::buffers);
  return *this;
}

void Module::register_forward_pre_hook(ForwardPreHook hook) {
  pre_hooks_.push_back(std::move(hook));
}

void Module::register_forward_hook(ForwardHook hook) {
  hooks_.push_back(std::move(hook));
}

void Module::assign_paths(const std::string& path) {
  path_ = tracer::intern(path);
  for (auto& [name, child] : children_) {
    child->assign_paths(path.empty() ? name : path + "." + name);
  }
  for (auto& [name, tensor] : parameters_) {
    tensor.meta().name = path.empty() ? name : path + "." + name;
  }
}

void Module::copy_settings(const Module& original) {
  training_ = original.training_;
  recomputed_ = original.recomputed_;
  pre_hooks_ = original.pre_hooks_;
  hooks_ = original.hooks_;
  path_ = original.path_;
  for (size_t i = 0; i < children_.size(); ++i) {
    children_[i].value->copy_settings(*original.children_[i].value);
  }
}

Tensor Module::register_parameter(const char* name, const Shape& sizes,
                                  const Init& init) {
  Tensor parameter = initial(sizes, init);
  parameter.set_requires_grad(true);
  parameters_.push_back({name, parameter});
  return parameter;
}

Tensor Module::register_buffer(const char* name, Tensor initial) {
  buffers_.push_back({name, initial});
  return initial;
}

void Module::replace_child(const std::string& name, ModulePtr module) {
  for (auto& [child_name, child] : children_) {
    if (child_name == name) child = module;
  }
}

}  // namespace lockstep::nn
