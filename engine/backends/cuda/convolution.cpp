// Convolutions through cuDNN's backend API (cudnn_graph.h): for each shape and
// direction, an engine is chosen once, and each queue finalizes its plan once.
// Images are N×H×W×C and weights O×kH×kW×C, the layout for tensor cores.
#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/backends/cuda/cudnn_graph.h"
#include "engine/backends/cuda/gpu.h"
#include "engine/backends/cuda/gpus.h"
#include "engine/backends/cuda/measure.h"
#include "engine/backends/cuda/status.h"

namespace lockstep::cuda {
namespace {

constexpr size_t kMostWorkspace = size_t{1} << 30;
constexpr size_t kMostTimed = 10;  // engines that --benchmark times

/// The address alignment for which cuDNN's fastest kernels are made. A replica's
/// weights may be part of a flat tensor and aligned only to their elements.
constexpr int64_t kAligned = 16;

const char* name(Convolution::Direction direction) {
  switch (direction) {
    case Convolution::Direction::forward:
      return "forward";
    case Convolution::Direction::backward_data:
      return "backward_data";
    default:
      return "backward_weight";
  }
}

std::string str(const Convolution& p) {
  return p.x.str() + " * " + p.w.str() + " stride " +
         std::to_string(p.attributes.stride[0]) + " padding " +
         std::to_string(p.attributes.padding[0]);
}

/// Returns a handle for queries and measurements on the current GPU. It has a stream of
/// its own, since the default stream waits for all others.
cudnnHandle_t make_planning_handle() {
  cudnnHandle_t made = nullptr;
  cudaStream_t stream = nullptr;
  check(cudnnCreate(&made), "cudnnCreate");
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking),
        "cudaStreamCreateWithFlags");
  check(cudnnSetStream(made, stream), "cudnnSetStream");
  return made;
}

/// A plan and the engine that it is for.
struct Candidate {
  EngineConfig config;
  std::shared_ptr<const ExecutionPlan> plan;
  double us = 0;  ///< if timed
};

/// Returns up to `most` plans of allowed engines with at most `workspace` bytes, best
/// first.
std::vector<Candidate> candidates(const Convolution& p, const ConvolutionGraph& graph,
                                  size_t workspace, size_t most) {
  std::vector<Candidate> found;
  for (const EngineConfig& config : graph.suggestions()) {
    if (found.size() == most) break;
    if (!is_allowed(config, p.bf16, backend_options())) continue;
    std::shared_ptr<const ExecutionPlan> plan =
        ExecutionPlan::make(config, graph.target());
    if (plan && plan->workspace() <= workspace) found.push_back({config, plan});
  }
  if (found.empty()) {
    throw std::runtime_error(std::string("cuDNN has no ") +
                             (backend_options().deterministic ? "deterministic " : "") +
                             "engine for " + name(p.direction) + " of " + str(p));
  }
  return found;
}

/// Returns the fastest of the candidates; the first if too little memory is free to
/// time them. REQUIRES: the GPU is idle (Backend::plan drains the caller's device).
Candidate fastest(const Convolution& p, std::vector<Candidate> all,
                  cudnnHandle_t handle) {
  size_t workspace = 0;
  for (const Candidate& candidate : all) {
    workspace = std::max(workspace, candidate.plan->workspace());
  }
  const auto memory = ConvolutionMemory::make(p, workspace);
  if (!memory) return all.front();
  for (Candidate& candidate : all) {
    try {
      candidate.us = memory->time(*candidate.plan, handle);
    } catch (const std::exception&) {  // an engine may reject what its plan accepted
      candidate.us = std::numeric_limits<double>::infinity();
    }
  }
  return *std::min_element(
      all.begin(), all.end(),
      [](const Candidate& a, const Candidate& b) { return a.us < b.us; });
}

/// The plans of one convolution, one for each queue and alignment. Thread-safe.
class KeptPlans {
 public:
  KeptPlans(const Convolution& problem, const EngineConfig& chosen, size_t workspace)
      : problem_(problem), chosen_(chosen), workspace_(workspace) {}

  void run(const void* a, const void* b, void* c, void* workspace) {
    CudaQueue& queue = CudaQueue::current();
    const bool aligned =
        ((reinterpret_cast<uintptr_t>(a) | reinterpret_cast<uintptr_t>(b) |
          reinterpret_cast<uintptr_t>(c)) %
         kAligned) == 0;
    plan_of(queue, aligned).execute(queue.cudnn(), a, b, c, workspace);
  }

 private:
  /// Plans are not shared between queues: executing one is not thread-safe. They are
  /// made without the lock: loading a kernel may wait for a collective of this GPU, and
  /// that for another GPU whose queue needs its plan.
  const ExecutionPlan& plan_of(CudaQueue& queue, bool aligned) {
    const std::pair key(&queue, aligned);
    {
      std::lock_guard lock(mutex_);
      if (const auto found = plans_.find(key); found != plans_.end()) {
        return *found->second;
      }
    }
    auto plan = make(queue, aligned);
    std::lock_guard lock(mutex_);
    return *(plans_[key] = std::move(plan));
  }

  std::shared_ptr<const ExecutionPlan> make(CudaQueue& queue, bool aligned) const {
    const PlanningTarget target{queue.cudnn(), nullptr};
    if (aligned) {
      auto plan = ExecutionPlan::make(chosen_, target);
      if (plan && plan->workspace() <= workspace_) return plan;
    }
    const int64_t element = problem_.bf16 ? sizeof(Bf16) : sizeof(float);
    const ConvolutionGraph graph(problem_, aligned ? kAligned : element, target);
    return candidates(problem_, graph, workspace_, 1).front().plan;
  }

  const Convolution problem_;
  const EngineConfig chosen_;
  const size_t workspace_;  ///< bytes that the caller provides
  std::mutex mutex_;
  std::map<std::pair<CudaQueue*, bool>, std::shared_ptr<const ExecutionPlan>> plans_;
};

std::string implementation(const Convolution& p, const EngineConfig& config) {
  const char* precision = p.bf16                                         ? "bfloat16"
                          : config.has(CUDNN_NUMERICAL_NOTE_TENSOR_CORE) ? "tf32"
                                                                         : "float32";
  return std::string("cudnn:") + name(p.direction) + ":engine" +
         std::to_string(config.engine) + ":" + precision;
}

/// REQUIRES: no other thread uses the handle meanwhile.
ConvolutionPlan make_plan(const Convolution& p, cudnnHandle_t handle) {
  const BackendOptions& options = backend_options();
  const bool timed = options.benchmark && !options.deterministic;
  const ConvolutionGraph graph(p, kAligned, {handle, nullptr});
  std::vector<Candidate> all =
      candidates(p, graph, kMostWorkspace, timed ? kMostTimed : 1);
  const Candidate chosen = timed ? fastest(p, std::move(all), handle) : all.front();
  ConvolutionPlan plan;
  plan.impl = implementation(p, chosen.config);
  const size_t workspace = chosen.plan->workspace();
  plan.workspace = std::max(workspace, kLeastWorkspace);
  if (timed) {
    std::fprintf(stderr, "benchmark: %s %s -> %s %.0f us, %zu KiB\n", name(p.direction),
                 str(p).c_str(), plan.impl.c_str(), chosen.us, workspace >> 10);
  }
  const auto kept = std::make_shared<KeptPlans>(p, chosen.config, plan.workspace);
  plan.run = [kept](const void* a, const void* b, void* c, void* workspace) {
    kept->run(a, b, c, workspace);
  };
  return plan;
}

/// Plans on one GPU. A convolution has one plan whatever is fused into it, so that it
/// is timed once. Threads take turns: only those of other GPUs plan at the same time.
class Planner {
 public:
  static Planner& of(int gpu) {
    static std::mutex mutex;
    static auto* const planners = new std::map<int, Planner>;
    std::lock_guard lock(mutex);
    return (*planners)[gpu];
  }

  ConvolutionPlan plan(const Convolution& p) {
    std::lock_guard lock(mutex_);
    if (!handle_) handle_ = make_planning_handle();
    ConvolutionPlan& plan = plans_[key_of(p)];
    if (!plan.run) plan = make_plan(p, handle_);
    return plan;
  }

 private:
  static std::string key_of(const Convolution& p) {
    const BackendOptions& o = backend_options();
    const int options = o.benchmark + 2 * o.deterministic + 4 * o.tf32 + 8 * p.bf16;
    return std::string(name(p.direction)) + " of " + str(p) + " options " +
           std::to_string(options);
  }

  std::mutex mutex_;
  cudnnHandle_t handle_ = nullptr;
  std::map<std::string, ConvolutionPlan> plans_;
};

}  // namespace

ConvolutionPlan Gpu::convolution(const Convolution& p) {
  const auto device = Backend::planning_device();
  const int gpu = device ? gpu_of(*device) : planning_gpu();
  const GpuScope scope(gpu);
  return Planner::of(gpu).plan(p);
}

}  // namespace lockstep::cuda
