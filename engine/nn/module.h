// Module: the base of everything that has parameters and a `forward`.
//
// User code never calls `forward` directly. It calls `model(x)`:
//
//   Module::operator()   what Python spells  ResNet.__call__
//     → call_impl        Module._call_impl: hooks before, forward, hooks after
//       → forward        the layer's or the model's own function
//
// So the caller of `forward` is `call_impl`.
// Source: torch/nn/modules/module.py.
#pragma once

#include <functional>
#include <memory>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "engine/nn/init.h"
#include "engine/tensor/tensor.h"

namespace lockstep::nn {

class Module;
using ModulePtr = std::shared_ptr<Module>;

template <typename T>
struct Named {
  std::string name;  ///< `layer1.0.conv1.weight`
  T value;
};

using ForwardPreHook = std::function<void(Module&, const Tensor& input)>;
using ForwardHook = std::function<void(Module&, const Tensor& in, const Tensor& out)>;

class Module {
 public:
  virtual ~Module() = default;

  /// `model(x)`: runs the module on `input`, hooks included, through `call_impl`.
  /// `site` is where the call is written (the trace shows it); leave it out.
  Tensor operator()(const Tensor& input,
                    std::source_location site = std::source_location::current());

  /// The computation itself; written by each subclass, called by `call_impl`.
  virtual Tensor forward(const Tensor& input) = 0;

  /// Returns the class's name as PyTorch prints it: `ResNet`, `Conv2d`.
  virtual const char* type_name() const = 0;

  /// Returns a module of the same structure, made by the same constructor: C++ has no
  /// counterpart of Python's `module._replicate_for_data_parallel()`, which copies an
  /// object of any class. Inside a `Construction` with `skeleton` (init.h) the new
  /// parameters have no memory; `replicate` then fills in the copies that it sent to
  /// the device.
  virtual ModulePtr make_like() const = 0;

  /// Return all parameters (buffers) of this module and its children, in order of
  /// registration, with their full names. They are handles: the module sees changes.
  std::vector<Named<Tensor>> named_parameters() const;
  std::vector<Named<Tensor>> named_buffers() const;
  Tensors parameters() const;
  Tensors buffers() const;
  const std::vector<Named<ModulePtr>>& children() const { return children_; }

  /// Selects the training or evaluation behaviour of batch norm and dropout.
  Module& train(bool on = true);
  Module& eval() { return train(false); }
  bool training() const { return training_; }

  /// Moves the parameters and buffers of this module itself, and returns it (a tensor's
  /// `to` returns a copy).
  Module& to(Device device);

  void register_forward_pre_hook(ForwardPreHook hook);
  void register_forward_hook(ForwardHook hook);

  /// `layer1.0.conv1`; set for a whole tree by its root. Wrappers (DataParallel) give
  /// their child their own path, so that single, DP and DDP traces align.
  const char* path() const { return path_; }
  virtual void assign_paths(const std::string& path);

  /// Copies mode and hooks of `original`, a module of the same structure.
  void copy_settings(const Module& original);

 protected:
  Tensor register_parameter(const char* name, const Shape& sizes, const Init& init);
  Tensor register_buffer(const char* name, Tensor initial);
  template <typename T>
  std::shared_ptr<T> register_module(const std::string& name, std::shared_ptr<T> m) {
    children_.push_back({name, m});
    return m;
  }
  void replace_child(const std::string& name, ModulePtr module);

 private:
  Tensor call_impl(const Tensor& input, std::source_location site);
  void collect(std::vector<Named<Tensor>>& out, const std::string& prefix,
               std::vector<Named<Tensor>> Module::* kind) const;

  std::vector<Named<Tensor>> parameters_, buffers_;
  std::vector<Named<ModulePtr>> children_;
  std::vector<ForwardPreHook> pre_hooks_;
  std::vector<ForwardHook> hooks_;
  bool training_ = true;
  const char* path_ = "";
};

}  // namespace lockstep::nn
