// Addition, scaling, filling, flattening, permuting, and conversion to the plain memory
// layout.
#include <algorithm>

#include "engine/ops/checks.h"
#include "engine/ops/fusions.h"
#include "engine/ops/op_call.h"
#include "engine/ops/ops.h"

namespace lockstep::ops {
namespace {

void check_same_shape(const char* op, const Tensor& a, const Tensor& b) {
  check_defined(op, {{"input", a}, {"other", b}});
  check(a.sizes() == b.sizes(),
        "The size of tensor a {} must match the size of tensor b {}", a.sizes().str(),
        b.sizes().str());
}

/// Copies xᵀ to y; x is rows×columns.
template <typename T>
void transpose(const T* x, T* y, int64_t rows, int64_t columns) {
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) y[c * rows + r] = x[r * columns + c];
  }
}

Tensors pass_to_both(Tensors grads) { return {grads[0], grads[0]}; }

}  // namespace

Tensor add(const Tensor& a, const Tensor& b, Site site) {
  check_same_shape("add", a, b);
  OpCall op("aten::add", {a, b}, site);
  Tensor y = compute_one(OpCode::add, {a, b}, a.sizes());
  autograd::set_history("AddBackward0", {a, b}, {y}, op.id(), pass_to_both);
  return y;
}

Tensor& add_(Tensor& a, const Tensor& b, Site site) {
  check_same_shape("add_", a, b);
  check_in_place(a);
  OpCall op("aten::add_", {a, b}, site);
  if (!fuse_add(a, b)) compute_into(OpCode::add, {a, b}, {a});
  autograd::set_history("AddBackward0", {a, b}, {a}, op.id(), pass_to_both);
  return a;
}

Tensor scale(const Tensor& x, double factor, Site site) {
  check_defined("mul", {{"input", x}});
  OpCall op("aten::mul", {x}, site);
  Tensor y = compute_one(OpCode::scale, {x}, x.sizes(), {}, {factor});
  autograd::set_history(
      "MulBackward0", {x}, {y}, op.id(),
      [factor](Tensors grads) -> Tensors { return {scale(grads[0], factor)}; });
  return y;
}

Tensor full_like(const Tensor& x, double value, Site site) {
  check_defined("full_like", {{"input", x}});
  OpCall op("aten::full_like", {x}, site);
  Tensor y = Tensor::empty({x.sizes(), x.dtype(), nullptr}, x.device());
  compute_into(OpCode::fill, {}, {y}, {}, {value});
  return y;
}

Tensor contiguous(const Tensor& x, Site site) {
  check_defined("contiguous", {{"input", x}});
  if (x.is_plain()) return x;
  OpCall op("aten::contiguous", {x}, site);
  Tensor y = compute_one(OpCode::copy, {x}, x.sizes());
  // The gradient may stay in plain layout: the node that receives it reorders it.
  autograd::set_history("CloneBackward0", {x}, {y}, op.id(),
                        [](Tensors grads) { return grads; });
  return y;
}

Tensor rotate_dims(const Tensor& x, int64_t by, Site site) {
  check_defined("permute", {{"input", x}});
  std::vector<int64_t> sizes(x.sizes().begin(), x.sizes().end());
  std::rotate(sizes.begin(), sizes.begin() + by, sizes.end());
  int64_t rows = 1;
  for (int64_t i = 0; i < by; ++i) rows *= x.size(static_cast<int>(i));
  const int64_t columns = rows == 0 ? 0 : x.numel() / rows;
  if (x.device().is_host()) {
    Tensor y = Tensor::empty(Shape(sizes), kHost, x.dtype());
    if (item_size(x.dtype()) == 8) {
      transpose(x.view().as<int64_t>(), y.view().as<int64_t>(), rows, columns);
    } else {
      transpose(x.data<float>(), y.data<float>(), rows, columns);
    }
    return y;
  }
  const Tensor plain = contiguous(x, site);
  OpCall op("aten::permute", {x}, site);
  Tensor y =
      compute_one(OpCode::transpose, {plain.reshaped({rows, columns})}, {columns, rows})
          .reshaped(Shape(sizes));
  autograd::set_history("PermuteBackward0", {plain}, {y}, op.id(),
                        [back = x.dim() - by](Tensors grads) -> Tensors {
                          return {rotate_dims(grads[0], back)};
                        });
  return y;
}

Tensor flatten(const Tensor& x, Site site) {
  check_defined("flatten", {{"input", x}});
  const Tensor plain = contiguous(x, site);
  OpCall op("aten::flatten", {x}, site);
  Tensor y = plain.reshaped({x.size(0), x.size(0) ? x.numel() / x.size(0) : 0});
  autograd::set_history("ViewBackward0", {plain}, {y}, op.id(),
                        [sizes = x.sizes()](Tensors grads) -> Tensors {
                          return {contiguous(grads[0]).reshaped(sizes)};
                        });
  return y;
}

}  // namespace lockstep::ops
