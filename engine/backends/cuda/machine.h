// The interface between planners and the machine that runs their kernels. There are two
// machines: `Gpu` (gpu.h), and a host implementation in tests/engine/backends, so that
// everything above CUDA's own libraries can be tested without a GPU.
//
// A machine is a struct of static functions:
//
//   for_each(n, f)             f(i) for every i < n, in any order, concurrently
//   for_many(f, largest)       f(t, i) for every i < f.size(t), t < f.count (many.h)
//   for_rows(rows, f)          f(row, lane) for every lane that shares the row
//                              (element.h)
//   for_columns(rows, columns, f)
//                              f(k, f.load(i), i) for i = row · columns + c, with k =
//                              f.column(c), which is computed once for many rows
//   sum_columns(rows, columns, f, scratch)
//                              f.finish(c, Σ over rows) for every column, in a fixed
//                              order of summation (normalization.h)
//   sum_then_columns(rows, columns, s, f)
//                              sum_columns of s and for_columns of f in one launch:
//                              f.column(c) sees what s.finish(c) wrote. REQUIRES: a
//                              block can process all rows (launch_shape.h)
//   scratch_bytes(rows, columns, size)   scratch for sums of `size` bytes
//   fault()                    where kernels of the current device report errors
//   convolution(Convolution), gemm(Gemm)   planned library calls
#pragma once

#include <algorithm>
#include <initializer_list>
#include <type_traits>

#include "engine/backends/cuda/kernels/element.h"
#include "engine/backends/cuda/steps.h"

namespace lockstep::cuda {

/// y = x ∗ w, dx = dy ∗ w or dw = x ∗ dy, on images N×H×W×C and weights O×kH×kW×C.
struct Convolution {
  enum class Direction { forward, backward_data, backward_weight } direction;
  Shape x, w, y;  ///< logical: N×C×H×W and O×C×kH×kW
  Attributes attributes;
  bool bf16 = false;  ///< for all three tensors; otherwise float32
};

/// The algorithm chosen by the library.
struct ConvolutionPlan {
  std::string impl;
  size_t workspace = 0;
  /// a ∗ b → c: (x, w, y), (w, dy, dx) or (x, dy, dw).
  std::function<void(const void* a, const void* b, void* c, void* workspace)> run;
};

/// Row-major c[m×n] = a b, with a[m×k] or, transposed, [k×m]; b[k×n] or [n×k].
struct Gemm {
  int64_t m, n, k;
  bool transpose_a = false, transpose_b = false;
  bool bf16_in = false, bf16_out = false;
};
using GemmRun = std::function<void(const void* a, const void* b, void* c)>;

/// Calls `use` with a value of the element type of `form`.
template <class Use>
auto with_element(Form form, Use use) {
  return form.bf16 ? use(Bf16()) : use(float());
}

/// The number of bytes that a GPU thread loads or stores at once.
inline constexpr size_t kPackBytes = 16;

/// Calls use(n), where n() elements of type T are moved at once: a whole pack if `row`
/// is a multiple of it and all tensors are aligned to packs (or null), otherwise 1.
template <class T, class Use>
void with_packs(Index row, std::initializer_list<const void*> tensors, Use use) {
  constexpr int kMost = kPackBytes / sizeof(T);
  bool fits = row % kMost == 0;
  for (const void* tensor : tensors) {
    fits = fits && reinterpret_cast<uintptr_t>(tensor) % kPackBytes == 0;
  }
  if (fits) {
    use(std::integral_constant<int, kMost>());
  } else {
    use(std::integral_constant<int, 1>());
  }
}

/// Returns sum_columns' scratch for `size` bytes per channel, with or without packs.
template <class Machine>
size_t sums_bytes(Index rows, Index channels, Form form, size_t size) {
  const Index most = kPackBytes / (form.bf16 ? sizeof(Bf16) : sizeof(float));
  return std::max(Machine::scratch_bytes(rows, channels, size),
                  Machine::scratch_bytes(rows, channels / most, size * most));
}

/// Return the plan of an operation of one family.
template <class Machine>
PlanPtr plan_convolution(const PlanRequest& request);
template <class Machine>
PlanPtr plan_linear(const PlanRequest& request);
template <class Machine>
PlanPtr plan_normalization(const PlanRequest& request);
template <class Machine>
PlanPtr plan_pooling(const PlanRequest& request);
template <class Machine>
PlanPtr plan_elementwise(const PlanRequest& request);
template <class Machine>
PlanPtr plan_loss(const PlanRequest& request);
template <class Machine>
PlanPtr plan_optimizer(const PlanRequest& request);

/// Returns the plan of any operation. Throws std::runtime_error for types that this
/// kind of device does not support.
template <class Machine>
PlanPtr make_plan(const PlanRequest& request);

/// Computes into[i] = op(into[i], from[i]).
template <class Machine>
void reduce_elements(void* into, const void* from, int64_t numel, DType dtype,
                     ReduceOp op);

/// Returns a step that transposes and converts `from` to `to` (see
/// kernels/elementwise.h): `count` elements in planes of a × b.
template <class Machine>
Step turn_step(Ref from, Ref to, int64_t count, int64_t a, int64_t b);

/// Returns a step that copies `from`, a tensor of those sizes, to `to` in its form.
template <class Machine>
Step as_step(Ref from, Ref to, const Shape& sizes) {
  int64_t a = 1, b = 1;
  if (from.form.nhwc != to.form.nhwc) {
    const int64_t channels = sizes[1], plane = sizes[2] * sizes[3];
    a = to.form.nhwc ? plane : channels;
    b = to.form.nhwc ? channels : plane;
  }
  return turn_step<Machine>(from, to, sizes.numel(), a, b);
}

/// Returns `ref`, a tensor of those sizes, in form `wanted`: itself if it matches,
/// otherwise a copy in scratch.
template <class Machine>
Ref as(Steps& steps, Ref ref, const Shape& sizes, Form wanted) {
  if (ref.form == wanted) return ref;
  const Ref copy = steps.scratch(bytes_of(sizes, wanted), wanted);
  steps.add(as_step<Machine>(ref, copy, sizes));
  return copy;
}

}  // namespace lockstep::cuda
