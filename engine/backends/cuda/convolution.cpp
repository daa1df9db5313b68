// Convolutions through cuDNN 9's legacy API: one function per direction, with an
// explicitly chosen algorithm.
// Images are N×H×W×C and weights O×kH×kW×C, the layout for tensor cores.
// Source: cuDNN API, cudnn_cnn library (cudnnConvolutionForward and similar).
#include <array>
#include <cstdio>
#include <mutex>
#include <tuple>

#include "engine/backends/cuda/gpu.h"
#include "engine/backends/cuda/gpus.h"
#include "engine/backends/cuda/status.h"

namespace lockstep::cuda {
namespace {

constexpr int kMostAlgorithms = 16;
constexpr size_t kMostWorkspace = size_t{1} << 30;

/// cuDNN's descriptors of a convolution. Immutable: any thread may use them.
struct Descriptors {
  cudnnTensorDescriptor_t x = nullptr, y = nullptr;
  cudnnFilterDescriptor_t w = nullptr;
  cudnnConvolutionDescriptor_t convolution = nullptr;

  explicit Descriptors(const Convolution& p) {
    const auto narrow = [](int64_t size) { return static_cast<int>(size); };
    const cudnnDataType_t type = p.bf16 ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_FLOAT;
    const Attributes& a = p.attributes;
    check(cudnnCreateTensorDescriptor(&x), "cudnnCreateTensorDescriptor");
    check(cudnnCreateTensorDescriptor(&y), "cudnnCreateTensorDescriptor");
    check(cudnnCreateFilterDescriptor(&w), "cudnnCreateFilterDescriptor");
    check(cudnnCreateConvolutionDescriptor(&convolution),
          "cudnnCreateConvolutionDescriptor");
    check(cudnnSetTensor4dDescriptor(x, CUDNN_TENSOR_NHWC, type, narrow(p.x[0]),
                                     narrow(p.x[1]), narrow(p.x[2]), narrow(p.x[3])),
          "cudnnSetTensor4dDescriptor of " + p.x.str());
    check(cudnnSetTensor4dDescriptor(y, CUDNN_TENSOR_NHWC, type, narrow(p.y[0]),
                                     narrow(p.y[1]), narrow(p.y[2]), narrow(p.y[3])),
          "cudnnSetTensor4dDescriptor of " + p.y.str());
    check(cudnnSetFilter4dDescriptor(w, type, CUDNN_TENSOR_NHWC, narrow(p.w[0]),
                                     narrow(p.w[1]), narrow(p.w[2]), narrow(p.w[3])),
          "cudnnSetFilter4dDescriptor of " + p.w.str());
    check(cudnnSetConvolution2dDescriptor(convolution, narrow(a.padding[0]),
                                          narrow(a.padding[1]), narrow(a.stride[0]),
                                          narrow(a.stride[1]), 1, 1,
                                          CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT),
          "cudnnSetConvolution2dDescriptor");
    set_math(first_math(p.bf16));
  }
  ~Descriptors() {
    cudnnDestroyConvolutionDescriptor(convolution);
    cudnnDestroyFilterDescriptor(w);
    cudnnDestroyTensorDescriptor(y);
    cudnnDestroyTensorDescriptor(x);
  }
  Descriptors(const Descriptors&) = delete;

  void set_math(cudnnMathType_t math) {
    check(cudnnSetConvolutionMathType(convolution, math),
          "cudnnSetConvolutionMathType");
  }
  /// For float32, the default allows TF32; FMA forbids it.
  static cudnnMathType_t first_math(bool bf16) {
    if (bf16) return CUDNN_TENSOR_OP_MATH;
    return backend_options().tf32 ? CUDNN_DEFAULT_MATH : CUDNN_FMA_MATH;
  }
};

/// Returns a handle for queries by host threads, which must take turns.
cudnnHandle_t planning_handle() {
  static cudnnHandle_t handle = [] {
    const GpuScope scope(planning_gpu());
    cudnnHandle_t made = nullptr;
    check(cudnnCreate(&made), "cudnnCreate");
    return made;
  }();
  return handle;
}

// In cuDNN, each direction has separate functions and types; these wrappers unify them.

struct Forward {
  using Perf = cudnnConvolutionFwdAlgoPerf_t;
  static constexpr const char* name = "forward";
  static constexpr auto suggest = cudnnGetConvolutionForwardAlgorithm_v7;
  static constexpr auto measure = cudnnFindConvolutionForwardAlgorithm;
  static constexpr auto workspace = cudnnGetConvolutionForwardWorkspaceSize;
  static auto operands(const Descriptors& d) { return std::tuple(d.x, d.w, d.y); }
  static constexpr auto run = cudnnConvolutionForward;
};

struct BackwardData {
  using Perf = cudnnConvolutionBwdDataAlgoPerf_t;
  static constexpr const char* name = "backward_data";
  static constexpr auto suggest = cudnnGetConvolutionBackwardDataAlgorithm_v7;
  static constexpr auto measure = cudnnFindConvolutionBackwardDataAlgorithm;
  static constexpr auto workspace = cudnnGetConvolutionBackwardDataWorkspaceSize;
  static auto operands(const Descriptors& d) { return std::tuple(d.w, d.y, d.x); }
  static constexpr auto run = cudnnConvolutionBackwardData;
};

struct BackwardWeight {
  using Perf = cudnnConvolutionBwdFilterAlgoPerf_t;
  static constexpr const char* name = "backward_weight";
  static constexpr auto suggest = cudnnGetConvolutionBackwardFilterAlgorithm_v7;
  static constexpr auto measure = cudnnFindConvolutionBackwardFilterAlgorithm;
  static constexpr auto workspace = cudnnGetConvolutionBackwardFilterWorkspaceSize;
  static auto operands(const Descriptors& d) { return std::tuple(d.x, d.y, d.w); }
  static constexpr auto run = cudnnConvolutionBackwardFilter;
};

std::string str(const Convolution& p) {
  return p.x.str() + " * " + p.w.str() + " stride " +
         std::to_string(p.attributes.stride[0]) + " padding " +
         std::to_string(p.attributes.padding[0]);
}

/// Returns candidates, best first: according to cuDNN's heuristics, or by timing all of
/// them, which allocates memory. May return none if too little memory is free.
template <class Way>
std::vector<typename Way::Perf> candidates(const Convolution& p, const Descriptors& d,
                                           bool measure) {
  std::array<typename Way::Perf, kMostAlgorithms> perfs{};
  int count = 0;
  const auto [a, b, c] = Way::operands(d);
  if (measure) check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  const cudnnStatus_t status =
      measure ? Way::measure(planning_handle(), a, b, d.convolution, c, kMostAlgorithms,
                             &count, perfs.data())
              : Way::suggest(planning_handle(), a, b, d.convolution, c, kMostAlgorithms,
                             &count, perfs.data());
  if (measure && status != CUDNN_STATUS_SUCCESS) return {};
  check(status, std::string("cuDNN's algorithms for ") + Way::name + " of " + str(p));
  return {perfs.begin(), perfs.begin() + count};
}

/// Returns the first candidate that the options allow (deterministic, without TF32) and
/// whose workspace is not too large. Throws std::runtime_error if there is none.
template <class Way>
typename Way::Perf choose(const Convolution& p, Descriptors& d) {
  std::vector<typename Way::Perf> perfs;
  if (backend_options().benchmark && !backend_options().deterministic) {
    perfs = candidates<Way>(p, d, true);
  }
  const auto suggested = candidates<Way>(p, d, false);
  perfs.insert(perfs.end(), suggested.begin(), suggested.end());
  for (typename Way::Perf perf : perfs) {
    if (perf.status != CUDNN_STATUS_SUCCESS) continue;
    const bool repeats = perf.determinism == CUDNN_DETERMINISTIC;
    if (backend_options().deterministic && !repeats) continue;
    const bool plain_float = !p.bf16 && !backend_options().tf32;
    if (plain_float && perf.mathType != CUDNN_FMA_MATH &&
        perf.mathType != CUDNN_DEFAULT_MATH) {
      continue;
    }
    if (!plain_float) d.set_math(perf.mathType);
    const auto [a, b, c] = Way::operands(d);
    size_t workspace = 0;
    if (Way::workspace(planning_handle(), a, b, d.convolution, c, perf.algo,
                       &workspace) != CUDNN_STATUS_SUCCESS ||
        workspace > kMostWorkspace) {
      continue;
    }
    perf.memory = workspace;
    return perf;
  }
  throw std::runtime_error(std::string("cuDNN has no ") +
                           (backend_options().deterministic ? "deterministic " : "") +
                           "algorithm for " + Way::name + " of " + str(p));
}

template <class Way>
ConvolutionPlan plan(const Convolution& p) {
  static std::mutex one_at_a_time;
  std::lock_guard lock(one_at_a_time);
  const GpuScope scope(planning_gpu());
  const auto d = std::make_shared<Descriptors>(p);
  const typename Way::Perf chosen = choose<Way>(p, *d);
  ConvolutionPlan plan;
  const bool fma = !backend_options().tf32 || chosen.mathType == CUDNN_FMA_MATH;
  plan.impl = std::string("cudnn:") + Way::name + ":" +
              std::to_string(static_cast<int>(chosen.algo)) +
              (p.bf16 ? ":bfloat16"
               : fma  ? ":float32"
                      : ":tf32");
  plan.workspace = chosen.memory;
  if (backend_options().benchmark) {
    std::fprintf(stderr, "benchmark: %s %s -> %s %.0f us, %zu KiB\n", Way::name,
                 str(p).c_str(), plan.impl.c_str(), chosen.time * 1e3,
                 chosen.memory >> 10);
  }
  plan.run = [d, chosen, text = str(p)](const void* a, const void* b, void* c,
                                        void* workspace) {
    const float one = 1, zero = 0;
    const auto [of_a, of_b, of_c] = Way::operands(*d);
    check(Way::run(CudaQueue::current().cudnn(), &one, of_a, a, of_b, b, d->convolution,
                   chosen.algo, workspace, chosen.memory, &zero, of_c, c),
          std::string("cuDNN's ") + Way::name + " of " + text);
  };
  return plan;
}

}  // namespace

ConvolutionPlan Gpu::convolution(const Convolution& p) {
  switch (p.direction) {
    case Convolution::Direction::forward:
      return plan<Forward>(p);
    case Convolution::Direction::backward_data:
      return plan<BackwardData>(p);
    default:
      return plan<BackwardWeight>(p);
  }
}

}  // namespace lockstep::cuda
