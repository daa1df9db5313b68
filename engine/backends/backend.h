// The table of operations that every kind of device implements.
//
// The host *plans* an operation before enqueueing it: the plan specifies the layouts of
// the results and the kernel's workspace size, so that memory is allocated in program
// order. The stream's worker calls the plan's `run` later.
//
// To add an operation, add a line to `OpCode`, a planner to each backend's table, a
// function and its gradient to engine/ops, and cases to tests/engine/ops.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/runtime/driver.h"
#include "engine/tensor/tensor.h"

namespace lockstep {

/// inputs → outputs. [m] marks an optional input; x is N×C×H×W, dy the gradient of y.
enum class OpCode : uint8_t {
  conv2d,                  ///< x, w O×C×kH×kW, [b O] → y
  conv2d_backward_data,    ///< dy, w → dx
  conv2d_backward_weight,  ///< x, dy → dw, [db]
  linear,                  ///< x N×I, w O×I, [b O] → y = x wᵀ + b
  linear_backward_data,    ///< dy, w → dx
  linear_backward_weight,  ///< x, dy → dw, [db]
  batch_norm,              ///< x, gamma, beta, running mean, var, count, [z] →
               ///< y (+ z), batch mean, batch variance, [relu mask unless z]
  batch_norm_eval,      ///< x, gamma, beta, mean, var (running), absent, [z] →
                        ///< y (+ z)
  batch_norm_backward,  ///< x, dy, gamma, mean, var, [relu mask], [a, b, [r]] → dx,
                        ///< dgamma, dbeta; with a, b: first writes dy = add(a, b, [r])
  batch_norm_eval_backward,  ///< like batch_norm_backward, with constant mean, var
  batch_norm_stats,          ///< x → mean, biased var, elements per channel [1]
  batch_norm_gather_stats,   ///< N×(2C + 1), rows as above → the same, combined
  batch_norm_update,         ///< mean, var, count → in place: running mean, var, count
  batch_norm_backward_reduce,  ///< x, dy, mean, var → Σdy, Σdy(x − mean), dgamma, dbeta
  batch_norm_backward_elemt,   ///< x, dy, gamma, mean, var, Σdy, Σdy(x − mean), n → dx
  relu,                        ///< x → y; may be in place
  relu_backward,               ///< dy, y → dx; may be in place
  max_pool2d,                  ///< x → y, positions (opaque)
  max_pool2d_backward,         ///< dy, positions → dx
  avg_pool2d,                  ///< x → y
  avg_pool2d_backward,         ///< dy → dx
  adaptive_avg_pool2d,         ///< x → y
  adaptive_avg_pool2d_backward,  ///< dy → dx
  add,                   ///< a, b, [y] → a + b, with y 0 where not y > 0; may be in
                         ///< place on a
  subtract,              ///< a, b → a − b; here and below b may be a scalar
  multiply,              ///< a, b → a · b
  divide,                ///< a, b → a / b
  scale,                 ///< x → x · scalar[0]
  fill,                  ///< → scalar[0] everywhere
  copy,                  ///< x → y, same elements, y plain (also `contiguous`)
  transpose,             ///< x R×C, plain → xᵀ
  flatten_many,          ///< n plain tensors → one flat tensor
  reorder_many,          ///< n images or weights → the same, as conv2d reads them
  normalize_images,      ///< bytes N×3×H×W → floats; scalars: 3 means, 3 deviations
  dropout,               ///< x → y, mask u8; scalars p, seed, stream
  dropout_backward,      ///< dy, mask → dx; scalar p
  log_softmax,           ///< x N×C → y
  log_softmax_backward,  ///< dy, y → dx
  nll_loss,              ///< log p N×C, labels i64 N → loss [], flag `mean`
  nll_loss_backward,     ///< dloss [], labels → d log p
  correct_in_top_k,      ///< logits N×C, labels → percentage of rows within top k
  sgd,      ///< (p, g, buf)* → in place; scalars lr, momentum, wd, first, nesterov
  adam,     ///< (p, g, m, v, [max v])* → in place; k: tensors per parameter;
            ///< scalars lr, beta1, beta2, eps, wd, step, shrink
  rmsprop,  ///< (p, g, v, [avg], [buf])* → in place; k: tensors per parameter;
            ///< scalars lr, alpha, eps, wd, momentum, first, centered
  count_
};

const char* name(OpCode code);

/// Fixed arguments of an operation; part of the plan's cache key.
struct Attributes {
  std::array<int64_t, 2> kernel{0, 0}, stride{1, 1}, padding{0, 0};
  double eps = 0, momentum = 0;
  bool relu = false;  ///< a ReLU is fused into this operation
  bool mean = true;   ///< reduction of a loss
  int64_t k = 0;
  bool operator==(const Attributes&) const = default;
};

/// Arguments that may change with each launch.
using Scalars = std::array<double, 7>;

/// A kernel's arguments; valid only during the call.
struct KernelArgs {
  std::span<const View> in, out;
  void* workspace = nullptr;
  Scalars scalars{};
};

struct Plan {
  std::vector<LayoutPtr> layouts;  ///< of the outputs; missing or null: plain
  size_t workspace = 0;            ///< bytes of workspace
  std::string impl;                ///< the library's name for the kernel
  std::vector<TensorSpec> extra;   ///< opaque outputs (max_pool2d's positions, …)
  std::function<void(const KernelArgs&)> run;
};
using PlanPtr = std::shared_ptr<const Plan>;

/// The operation to plan.
struct PlanRequest {
  OpCode code;
  std::vector<TensorSpec> in;   ///< rank-0 u8 specs represent absent optional inputs
  std::vector<TensorSpec> out;  ///< requested shapes and types; layouts are ignored
  Attributes attributes;
  int threads = 1;
  bool operator==(const PlanRequest&) const = default;
};

/// One kind of device. Thread-safe.
struct Backend {
  virtual ~Backend() = default;

  /// Returns the cached plan or creates one, which may take milliseconds (JIT). It is
  /// made on `device`, if given, and can be used on every device of this kind. `drain`
  /// waits for the work that the caller has enqueued on its device; it is called before
  /// a plan whose kernels are timed, since running work would disturb the times and
  /// change the choice from run to run. Meanwhile other threads can get plans.
  PlanPtr plan(const PlanRequest& request, std::optional<Device> device = {},
               const std::function<void()>& drain = {});

  /// Prepares a worker thread to run kernels with `threads` threads.
  virtual void prepare_thread(int threads) { (void)threads; }

  /// Returns true if `amp` is supported on this machine. Not asked of `cuda`.
  virtual bool has_bfloat16() const { return false; }

  /// Returns true if a `relu_` that follows this operation can be fused into it.
  virtual bool can_fuse_relu(OpCode) const { return false; }
  /// Returns true if a `relu_backward`, in place, that follows this operation can be
  /// fused into it: the operation takes the ReLU's output as a further input.
  virtual bool can_fuse_relu_backward(OpCode) const { return false; }
  /// Returns true if an `add_` to its result that follows this operation can be fused
  /// into it: the operation takes the other summand as a further input.
  virtual bool can_fuse_add(OpCode) const { return false; }
  /// Returns true if the `add` before this operation, of the gradient that it reads,
  /// can be fused into it: the operation takes the addition's inputs as further inputs.
  virtual bool can_fuse_sum(OpCode) const { return false; }

  /// Returns the layout in which conv2d reads images or weights like `tensor`, for
  /// `reorder_many`; that of `tensor` if it reads them as they are.
  virtual LayoutPtr convolution_layout(const TensorSpec& tensor) const {
    return tensor.layout;
  }

  /// Returns the driver of this kind of device, or null if host threads run its
  /// kernels.
  virtual runtime::Driver* driver() { return nullptr; }

  /// Discards all cached plans. Must be called after options have changed.
  void clear_cache();

  /// Returns the device for which the calling thread is making a plan, if it was given.
  static std::optional<Device> planning_device();

 protected:
  virtual PlanPtr make_plan(const PlanRequest& request) = 0;

  /// Returns true if `make_plan` times kernels to choose one (`--benchmark`).
  virtual bool times_kernels(OpCode) const { return false; }

  /// Returns true if several threads may call `make_plan`, unless it times kernels.
  /// REQUIRES: plans for equal requests are equal.
  virtual bool plans_concurrently() const { return false; }

 private:
  PlanPtr cached(const PlanRequest& request);
  PlanPtr make(const PlanRequest& request, std::optional<Device> device);

  struct Hash {
    size_t operator()(const PlanRequest& request) const;
  };
  std::mutex mutex_;
  std::unordered_map<PlanRequest, PlanPtr, Hash> cache_;
};

/// Options that determine which kernels are used.
enum class ConvAlgorithm { automatic, direct, winograd };
struct BackendOptions {
  ConvAlgorithm conv = ConvAlgorithm::automatic;  ///< `cpu` only
  bool benchmark = false;      ///< time algorithms once per shape and print the choice
  bool deterministic = false;  ///< never time algorithms
  bool tf32 = true;            ///< `cuda`: multiply with 10-bit mantissas (TF32)
  /// Matrix products in bfloat16; `cuda`: activations, too.
  bool amp = false;
};
BackendOptions& backend_options();

/// Returns true if `--benchmark` chooses the kernel of this operation.
bool is_benchmarked(OpCode code);

/// Returns the backend for a device type. Throws std::runtime_error, naming a fix, if
/// this build lacks it.
Backend& backend_of(DeviceType type);
bool has_backend(DeviceType type);

/// The availability of `--device-type cuda`.
struct CudaStatus {
  bool built = false;             ///< this build includes the backend
  std::vector<std::string> gpus;  ///< device names
  std::string why_not;            ///< if there is no GPU: one line, ending with a fix
  std::string libraries;          ///< `CUDA 13.0, cuDNN 9.19, NCCL 2.28`
};
CudaStatus cuda_status();

}  // namespace lockstep
