// Module: the base class of everything that has parameters and a `forward`.
//
// User code never calls `forward` directly. It calls `model(x)`:
//
//   Module::operator()   Python: ResNet.__call__
//     → call_impl        Python: Module._call_impl: pre-hooks, forward, forward hooks
//       → forward        the function of the layer or model itself
//
// Hence the caller of `forward` is always `call_impl`. Both are in module_call.cpp.
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

/// A piece of a model whose forward pass calls its pieces one after the other.
struct Part {
  std::string name;                                     ///< `layer1`, `flatten`
  ModulePtr module;                                     ///< null: a function
  std::function<Tensor(const Tensor& input)> function;  ///< if there is no module

  Tensor operator()(const Tensor& input) const;
};

template <typename T>
struct Named {
  std::string name;  ///< `layer1.0.conv1.weight`
  T value;
};

/// Called before `forward`. Returns what replaces the input, for later pre-hooks, too;
/// an undefined tensor, PyTorch's None, keeps it.
using ForwardPreHook = std::function<Tensor(Module&, const Tensor& input)>;
/// Called after `forward` with the input that `forward` received. Returns what replaces
/// the output, for later hooks, too; an undefined tensor keeps it.
using ForwardHook = std::function<Tensor(Module&, const Tensor& in, const Tensor& out)>;

class Module {
 public:
  virtual ~Module() = default;

  /// `model(x)`: runs the module on `input`, including hooks, through `call_impl`.
  /// `site` is the location of the call, for the trace; callers should omit it.
  Tensor operator()(const Tensor& input,
                    std::source_location site = std::source_location::current());

  /// The computation itself; implemented by each subclass, called by `call_impl`.
  virtual Tensor forward(const Tensor& input) = 0;

  /// Returns the class name as PyTorch prints it: `ResNet`, `Conv2d`.
  virtual const char* type_name() const = 0;

  /// Returns what PyTorch prints in the parentheses after the class name:
  /// `in_features=5, out_features=2, bias=True`.
  virtual std::string extra_repr() const { return ""; }

  /// Returns the tree of modules as `print(model)` prints it, without a final newline.
  std::string repr() const;

  /// Returns a module of the same structure, created by the same constructor. C++ has
  /// no counterpart to Python's `module._replicate_for_data_parallel()`, which copies
  /// an object of any class. Within a `Construction` with `skeleton` (init.h), the new
  /// parameters have no memory; `replicate` then fills in the copies that it has sent
  /// to the device.
  virtual ModulePtr make_like() const = 0;

  /// Returns all parameters (buffers) of this module and its children, in registration
  /// order, with their full names. These are handles: changes affect the module.
  std::vector<Named<Tensor>> named_parameters() const;
  std::vector<Named<Tensor>> named_buffers() const;
  Tensors parameters() const;
  Tensors buffers() const;
  const std::vector<Named<ModulePtr>>& children() const { return children_; }

  /// Selects the training or evaluation behavior of batch norm and dropout.
  Module& train(bool on = true);
  Module& eval() { return train(false); }
  bool training() const { return training_; }

  /// Returns what `forward` calls, in order, if it passes each result only to the next;
  /// otherwise nothing. A pipeline cuts a model between its parts.
  virtual std::vector<Part> parts() const { return {}; }

  /// Returns whether this is a residual block, which `--recompute` runs again in the
  /// backward pass.
  virtual bool is_block() const { return false; }
  /// Whether a Sequential calls this module through `checkpoint` (recompute.h).
  void set_recomputed(bool on) { recomputed_ = on; }
  bool recomputed() const { return recomputed_; }

  /// Moves the parameters and buffers of this module in place and returns the module (a
  /// tensor's `to` returns a copy).
  Module& to(Device device);

  void register_forward_pre_hook(ForwardPreHook hook);
  void register_forward_hook(ForwardHook hook);
  /// Return the hooks in registration order.
  const std::vector<ForwardPreHook>& forward_pre_hooks() const { return pre_hooks_; }
  const std::vector<ForwardHook>& forward_hooks() const { return hooks_; }

  /// `layer1.0.conv1`; the root sets it for the whole tree. Wrappers (DataParallel)
  /// pass their own path to their child, so that single, DP and DDP traces align.
  const char* path() const { return path_; }
  virtual void assign_paths(const std::string& path);

  /// Copies the mode and hooks of `original`, which must have the same structure.
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
  /// Returns the children as parts, with `flatten` before the one of this name.
  std::vector<Part> children_as_parts(const std::string& flattened = "") const;

 private:
  Tensor call_impl(const Tensor& input, std::source_location site);
  void collect(std::vector<Named<Tensor>>& out, const std::string& prefix,
               std::vector<Named<Tensor>> Module::* kind) const;

  std::vector<Named<Tensor>> parameters_, buffers_;
  std::vector<Named<ModulePtr>> children_;
  std::vector<ForwardPreHook> pre_hooks_;
  std::vector<ForwardHook> hooks_;
  bool training_ = true, recomputed_ = false;
  const char* path_ = "";
};

}  // namespace lockstep::nn
