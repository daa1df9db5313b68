#include "engine/tensor/tensor.h"

#include <stdexcept>

namespace lockstep {

Tensor::Tensor(StoragePtr storage, size_t byte_offset, TensorSpec spec)
    : impl_(std::make_shared<Impl>()) {
  impl_->storage = std::move(storage);
  impl_->byte_offset = byte_offset;
  impl_->spec = std::move(spec);
}

Tensor Tensor::empty(const TensorSpec& spec, Device device) {
  return empty(spec, device, CategoryScope::current());
}

Tensor Tensor::empty(const TensorSpec& spec, Device device, MemoryCategory category) {
  const size_t bytes =
      spec.layout ? spec.layout->bytes() : spec.sizes.numel() * item_size(spec.dtype);
  return Tensor(std::make_shared<Storage>(device, bytes, category), 0, spec);
}

Tensor Tensor::from(const std::vector<double>& values, const Shape& sizes,
                    DType dtype) {
  if (static_cast<int64_t>(values.size()) != sizes.numel()) {
    throw std::runtime_error("Tensor::from: " + std::to_string(values.size()) +
                             " values for shape " + sizes.str());
  }
  Tensor tensor = empty(sizes, kHost, dtype);
  void* data = tensor.impl().storage->data();
  for (size_t i = 0; i < values.size(); ++i) {
    switch (dtype) {
      case DType::f32:
        static_cast<float*>(data)[i] = values[i];
        break;
      case DType::f64:
        static_cast<double*>(data)[i] = values[i];
        break;
      case DType::i64:
        static_cast<int64_t*>(data)[i] = values[i];
        break;
      case DType::u8:
        static_cast<uint8_t*>(data)[i] = values[i];
        break;
    }
  }
  return tensor;
}

void Tensor::throw_undefined() {
  throw UndefinedTensor(
      "Expected a proper Tensor but got None (or an undefined Tensor in C++): it was "
      "never assigned, or has been moved from");
}

View Tensor::view() const {
  auto* base = static_cast<char*>(impl().storage->data());
  return {base ? base + impl().byte_offset : nullptr, dtype(), sizes(),
          impl().spec.layout.get()};
}

bool Tensor::owns_memory_alone() const {
  return impl_.use_count() == 1 && impl().storage.use_count() == 1;
}

void* Tensor::host_data(size_t item) const {
  if (!device().is_host()) {
    throw std::runtime_error(
        "a tensor on " + device().str() +
        " cannot be read by the host; fix: copy it there with ops::copy_to");
  }
  if (item != item_size(dtype())) {
    throw std::runtime_error(std::string("unexpected dtype ") + name(dtype()));
  }
  return view().data;
}

Tensor Tensor::reshaped(const Shape& sizes) const {
  if (!is_plain() || sizes.numel() != numel()) {
    throw std::runtime_error("shape '" + sizes.str() +
                             "' is invalid for input of size " +
                             std::to_string(numel()));
  }
  return Tensor(impl().storage, impl().byte_offset, {sizes, dtype(), nullptr});
}

Tensor Tensor::narrowed(int64_t start, int64_t length) const {
  if (!is_plain() || dim() == 0 || start < 0 || start + length > size(0)) {
    throw std::runtime_error("narrow: start " + std::to_string(start) + " length " +
                             std::to_string(length) + " of " + sizes().str());
  }
  Shape sizes_ = sizes();
  sizes_[0] = length;
  const int64_t row = size(0) == 0 ? 0 : nbytes() / size(0);
  return Tensor(impl().storage, impl().byte_offset + start * row,
                {sizes_, dtype(), nullptr});
}

Tensor Tensor::detach() const {
  return Tensor(impl().storage, impl().byte_offset, impl().spec);
}

void Tensor::set_data(const Tensor& source) {
  const Impl& theirs = source.impl();
  if (!impl_) impl_ = std::make_shared<Impl>();
  impl_->storage = theirs.storage;
  impl_->byte_offset = theirs.byte_offset;
  impl_->spec = theirs.spec;
}

void Tensor::become(const Tensor& source) {
  set_data(source);
  const AutogradMeta* theirs = source.meta_if_any();
  if (theirs == nullptr) return;
  AutogradMeta& mine = meta();
  mine.requires_grad = theirs->requires_grad;
  mine.grad_fn = theirs->grad_fn;
  mine.output_nr = theirs->output_nr;
}

AutogradMeta& Tensor::meta() const {
  if (!impl().meta) impl().meta = std::make_unique<AutogradMeta>();
  return *impl().meta;
}

bool Tensor::requires_grad() const {
  return impl().meta && (impl().meta->requires_grad || impl().meta->grad_fn);
}

Tensor& Tensor::set_requires_grad(bool on) {
  meta().requires_grad = on;
  return *this;
}

Tensor Tensor::grad() const {
  return impl().meta && impl().meta->grad ? *impl().meta->grad : Tensor();
}

void Tensor::set_grad(const Tensor& grad) const {
  meta().grad = grad.defined() ? std::make_shared<Tensor>(grad) : nullptr;
}

}  // namespace lockstep
