// Tensors: a shape and a type over shared memory on one device, plus autograd metadata.
// As in PyTorch, a Tensor is a handle; copies share everything.
#pragma once

#include <functional>
#include <memory>
#include <source_location>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/tensor/shape.h"
#include "engine/tensor/storage.h"
#include "engine/tensor/types.h"

namespace lockstep {

namespace autograd {
class Node;
}
using NodePtr = std::shared_ptr<autograd::Node>;

class Tensor;

/// Thrown when an undefined tensor (Python's None) is used.
struct UndefinedTensor : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A kernel's view of a tensor.
struct View {
  void* data = nullptr;
  DType dtype = DType::f32;
  Shape sizes;
  const Layout* layout = nullptr;

  int64_t numel() const { return sizes.numel(); }
  size_t bytes() const { return layout ? layout->bytes() : numel() * item_size(dtype); }
  template <typename T>
  T* as() const {
    return static_cast<T*>(data);
  }
};

/// A tensor's description without its memory: shape, type and layout.
struct TensorSpec {
  Shape sizes;
  DType dtype = DType::f32;
  LayoutPtr layout;
  bool operator==(const TensorSpec&) const = default;
};

/// A tensor's autograd metadata (torch's AutogradMeta).
struct AutogradMeta {
  bool requires_grad = false;
  NodePtr grad_fn;         ///< the operation that produced it; null for a leaf
  uint32_t output_nr = 0;  ///< its index among grad_fn's outputs
  std::weak_ptr<autograd::Node> accumulator;  ///< a leaf's AccumulateGrad
  std::shared_ptr<Tensor> grad;
  /// A convolution's weights as its device reads them, for the next conv2d (ops.h).
  std::shared_ptr<Tensor> reordered;
  std::vector<std::function<void(const Tensor& grad)>> post_accumulate_hooks;
  std::string name;  ///< of a parameter: `layer1.0.conv1.weight`
};

class Tensor {
 public:
  /// An undefined tensor: any use except defined() throws std::runtime_error.
  Tensor() = default;
  Tensor(StoragePtr storage, size_t byte_offset, TensorSpec spec);

  /// Returns an uninitialised tensor in the category of the current CategoryScope.
  static Tensor empty(const TensorSpec& spec, Device device);
  static Tensor empty(const TensorSpec& spec, Device device, MemoryCategory category);
  static Tensor empty(const Shape& sizes, Device device, DType dtype = DType::f32) {
    return empty(TensorSpec{sizes, dtype, nullptr}, device);
  }
  /// Returns a host tensor initialised from `values` (converted to `dtype`).
  static Tensor from(const std::vector<double>& values, const Shape& sizes,
                     DType dtype = DType::f32);
  static Tensor scalar(double value, DType dtype = DType::f32) {
    return from({value}, {}, dtype);
  }

  bool defined() const { return impl_ != nullptr; }
  const Shape& sizes() const { return impl().spec.sizes; }
  int64_t size(int dim) const { return sizes()[dim < 0 ? dim + dim_() : dim]; }
  int64_t dim() const { return dim_(); }
  int64_t numel() const { return sizes().numel(); }
  DType dtype() const { return impl().spec.dtype; }
  Device device() const { return impl().storage->device(); }
  const TensorSpec& spec() const { return impl().spec; }
  bool is_plain() const { return impl().spec.layout == nullptr; }
  /// Returns the logical size in bytes: numel × item size.
  int64_t nbytes() const { return numel() * static_cast<int64_t>(item_size(dtype())); }

  View view() const;
  const StoragePtr& storage() const { return impl().storage; }
  /// Returns true if no other handle, tensor or view shares this tensor's memory.
  bool owns_memory_alone() const;
  /// Returns true if both handles refer to the same tensor.
  bool is(const Tensor& other) const { return impl_ == other.impl_; }

  /// Returns a host tensor's elements. Throws for device tensors or a wrong item size.
  template <typename T>
  T* data() const {
    return static_cast<T*>(host_data(sizeof(T)));
  }

  // --- views: share memory, without autograd (engine/ops has differentiable versions)
  Tensor reshaped(const Shape& sizes) const;             ///< plain tensors only
  Tensor narrowed(int64_t start, int64_t length) const;  ///< along dim 0, plain only
  Tensor detach() const;  ///< shares memory but has no history
  /// Makes this handle share `source`'s memory and keep its own autograd state.
  void set_data(const Tensor& source);
  /// Makes this handle and all its copies refer to `source`: both to its memory and to
  /// its position on the tape.
  void become(const Tensor& source);
  /// Returns a tensor that has a shape but no memory (e.g. a replica's parameter before
  /// `become` is called).
  static Tensor unset(const TensorSpec& spec) { return Tensor(nullptr, 0, spec); }

  // --- autograd
  bool requires_grad() const;  ///< set explicitly on a leaf, or implied by a grad_fn
  Tensor& set_requires_grad(bool on);
  bool is_leaf() const { return !impl().meta || !impl().meta->grad_fn; }
  Tensor grad() const;  ///< undefined if there is none
  void set_grad(const Tensor& grad) const;
  AutogradMeta& meta() const;  ///< created on first use
  const AutogradMeta* meta_if_any() const { return impl().meta.get(); }
  /// Runs the backward pass starting from this scalar.
  void backward(std::source_location site = std::source_location::current()) const;

 private:
  struct Impl {
    StoragePtr storage;
    size_t byte_offset = 0;
    TensorSpec spec;
    std::unique_ptr<AutogradMeta> meta;
  };
  Impl& impl() const {
    if (!impl_) throw_undefined();
    return *impl_;
  }
  [[noreturn]] static void throw_undefined();
  int64_t dim_() const { return sizes().rank(); }
  void* host_data(size_t item) const;

  std::shared_ptr<Impl> impl_;
};

using Tensors = std::vector<Tensor>;

}  // namespace lockstep
