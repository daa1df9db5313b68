#include "engine/nn/module.h"

#include <source_location>

#include "engine/ops/copy.h"
#include "engine/ops/op_call.h"
#include "tracer/format/keys.h"
#include "tracer/record/recorder.h"
#include "tracer/record/traceback.h"

namespace lockstep::nn {
namespace keys = tracer::keys;
namespace {

/// Records a `call` event: PyTorch's name, C++ name, call site, module path and input
/// shape. The call is `below` lines after `site`. The definition's file and line are
/// looked up when the trace is written.
class CallEvent {
 public:
  CallEvent(const Module& module, const std::string& name, const std::string& cpp,
            const Tensor& input, const std::source_location& site, int below = 0);

 private:
  tracer::CallSite site_;
  tracer::HostEvent event_;
};

}  // namespace

Tensor Module::operator()(const Tensor& input, std::source_location site) {
  CallEvent event(*this, std::string(type_name()) + ".__call__", "Module::operator()",
                  input, site);
  return call_impl(input, std::source_location::current());
}

Tensor Module::call_impl(const Tensor& input, std::source_location site) {
  CallEvent event(*this, "Module._call_impl", "Module::call_impl", input, site);
  for (const ForwardPreHook& hook : pre_hooks_) hook(*this, input);
  Tensor output;
  {
    const std::string type = type_name();
    CallEvent inner(*this, type + ".forward", type + "::forward", input,
                    std::source_location::current(), 1);
    output = forward(input);
  }
  for (const ForwardHook& hook : hooks_) hook(*this, input, output);
  return output;
}

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
  return module ? (*module)(input) : function(input);
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

namespace {

CallEvent::CallEvent(const Module& module, const std::string& name,
                     const std::string& cpp, const Tensor& input,
                     const std::source_location& site, int below)
    : site_(site, module.path(), below),
      event_("call", tracer::recording() ? tracer::intern(name) : "") {
  if (!event_.on()) return;
  event_.arg({keys::cpp, tracer::intern(cpp)});
  event_.arg({keys::file, site.file_name()});
  event_.arg({keys::line, static_cast<int64_t>(site.line()) + below});
  event_.arg({keys::module, module.path()});
  ops::describe_shapes(event_, {input});
}

}  // namespace
}  // namespace lockstep::nn
