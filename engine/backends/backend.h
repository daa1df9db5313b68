// The table of operations: all that a kind of device must be able to compute.
//
// The host *plans* an operation before it enqueues it: a plan says in which layouts the
// results will lie and how much scratch memory the kernel needs, so that memory can be
// taken in program order; its `run` is called later, by the stream's worker.
//
// To add an operation: a line in `OpCode`, a planner in each backend's table, a
// function in engine/ops with its gradient, and rows in tests/engine/ops.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <mutex>
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
  batch_norm,              ///< x, gamma, beta, running mean, var, count →
                           ///< y, batch mean, batch variance, [relu mask]
  batch_norm_eval,         ///< x, gamma, beta, mean, var (given: running ones) → y
  batch_norm_backward,     ///< x, dy, gamma, mean, var, [relu mask] → dx, dgamma, dbeta
  batch_norm_eval_backward,  ///< like batch_norm_backward, mean and var constant
  batch_norm_stats,          ///< x → mean, biased var, elements per channel [1]
  batch_norm_gather_stats,   ///< N×(2C + 1), each row as above → the same of all
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
  add,                           ///< a, b → a + b; may be in place on a
  subtract,                      ///< a, b → a − b; here and below b may be one number
  multiply,                      ///< a, b → a · b
  divide,                        ///< a, b → a / b
  scale,                         ///< x → x · scalar[0]
  fill,                          ///< → scalar[0] everywhere
  copy,                          ///< x → y, same elements, y plain (also `contiguous`)
  flatten_many,                  ///< n plain tensors → one flat tensor
  dropout,                       ///< x → y, mask u8; scalars p, seed, offset
  dropout_backward,              ///< dy, mask → dx; scalar p
  log_softmax,                   ///< x N×C → y
  log_softmax_backward,          ///< dy, y → dx
  nll_loss,                      ///< log p N×C, labels i64 N → loss [], flag `mean`
  nll_loss_backward,             ///< dloss [], labels → d log p
  correct_in_top_k,  ///< logits N×C, labels → percentage of rows within top k
  sgd,               ///< (p, g, buf)* → in place; scalars lr, momentum, wd, first
  count_
};

const char* name(OpCode code);

/// Fixed arguments of an operation; part of its plan's identity.
struct Attributes {
  std::array<int64_t, 2> kernel{0, 0}, stride{1, 1}, padding{0, 0};
  double eps = 0, momentum = 0;
  bool relu = false;  ///< a ReLU has melted into this operation
  bool mean = true;   ///< reduction of a loss
  int64_t k = 0;
  bool operator==(const Attributes&) const = default;
};

/// Varying arguments, given with each launch.
using Scalars = std::array<double, 4>;

/// A kernel's arguments, valid while it runs.
struct KernelArgs {
  std::span<const View> in, out;
  void* workspace = nullptr;
  Scalars scalars{};
};

struct Plan {
  std::vector<LayoutPtr> layouts;  ///< of the outputs; missing or null: plain
  size_t workspace = 0;            ///< bytes of scratch
  std::string impl;                ///< the library's name of what will run
  std::vector<TensorSpec> extra;   ///< opaque outputs (max_pool2d's positions, …)
  std::function<void(const KernelArgs&)> run;
};
using PlanPtr = std::shared_ptr<const Plan>;

/// What is to be planned.
struct PlanRequest {
  OpCode code;
  std::vector<TensorSpec> in;   ///< rank-0 u8 specs stand for absent optional inputs
  std::vector<TensorSpec> out;  ///< wanted shapes and types; layouts are ignored
  Attributes attributes;
  int threads = 1;
  bool operator==(const PlanRequest&) const = default;
};

/// One kind of device. Thread-safe.
struct Backend {
  virtual ~Backend() = default;

  /// Returns the cached plan or makes it; making one may take milliseconds (JIT).
  PlanPtr plan(const PlanRequest& request);

  /// Readies a worker thread that will run kernels with `threads` threads.
  virtual void prepare_thread(int threads) { (void)threads; }

  /// Can `relu_` melt into this operation when it comes right after it?
  virtual bool can_fuse_relu(OpCode) const { return false; }

  /// The hardware that this kind of device works on; null: the host's threads do it.
  virtual runtime::Driver* driver() { return nullptr; }

  /// Forgets all plans (after a change of options).
  void clear_cache();

 protected:
  virtual PlanPtr make_plan(const PlanRequest& request) = 0;

 private:
  struct Hash {
    size_t operator()(const PlanRequest& request) const;
  };
  std::mutex mutex_;
  std::unordered_map<PlanRequest, PlanPtr, Hash> cache_;
};

/// How kernels are chosen.
enum class ConvAlgorithm { automatic, direct };
struct BackendOptions {
  ConvAlgorithm conv = ConvAlgorithm::automatic;  ///< `cpu` only
  bool benchmark = false;      ///< measure algorithms once per shape, print the choice
  bool deterministic = false;  ///< never measure
  bool tf32 = true;            ///< `cuda`: products of numbers with 10 bits of mantissa
  bool amp = false;            ///< `cuda`: activations and products in bfloat16
};
BackendOptions& backend_options();

/// The backend of a device type. Throws with the fix if this build lacks it.
Backend& backend_of(DeviceType type);
bool has_backend(DeviceType type);

/// What there is for `--device-type cuda`.
struct CudaStatus {
  bool built = false;             ///< this program was built with it
  std::vector<std::string> gpus;  ///< their names
  std::string why_not;            ///< no GPU: one line that ends in the fix
  std::string libraries;          ///< `CUDA 13.0, cuDNN 9.19, NCCL 2.28`
};
CudaStatus cuda_status();

}  // namespace lockstep
