#include "engine/backends/backend.h"

#include <source_location>
#include <stdexcept>
#include <utility>

#include "engine/backends/load_cuda.h"
#include "engine/backends/null/null_backend.h"
#include "engine/backends/reference/reference_backend.h"
#include "tracer/format/keys.h"
#include "tracer/record/recorder.h"
#ifdef LOCKSTEP_HAS_DNNL
#include "engine/backends/cpu/cpu_backend.h"
#endif

namespace lockstep {

const char* name(OpCode code) {
  static const char* const names[] = {"conv2d",
                                      "conv2d_backward_data",
                                      "conv2d_backward_weight",
                                      "linear",
                                      "linear_backward_data",
                                      "linear_backward_weight",
                                      "batch_norm",
                                      "batch_norm_eval",
                                      "batch_norm_backward",
                                      "batch_norm_eval_backward",
                                      "batch_norm_stats",
                                      "batch_norm_gather_stats",
                                      "batch_norm_update",
                                      "batch_norm_backward_reduce",
                                      "batch_norm_backward_elemt",
                                      "relu",
                                      "relu_backward",
                                      "max_pool2d",
                                      "max_pool2d_backward",
                                      "avg_pool2d",
                                      "avg_pool2d_backward",
                                      "adaptive_avg_pool2d",
                                      "adaptive_avg_pool2d_backward",
                                      "add",
                                      "subtract",
                                      "multiply",
                                      "divide",
                                      "scale",
                                      "fill",
                                      "copy",
                                      "transpose",
                                      "flatten_many",
                                      "reorder_many",
                                      "normalize_images",
                                      "dropout",
                                      "dropout_backward",
                                      "log_softmax",
                                      "log_softmax_backward",
                                      "nll_loss",
                                      "nll_loss_backward",
                                      "correct_in_top_k",
                                      "sgd",
                                      "adam",
                                      "rmsprop"};
  static_assert(std::size(names) == static_cast<size_t>(OpCode::count_));
  return names[static_cast<int>(code)];
}

size_t Backend::Hash::operator()(const PlanRequest& request) const {
  size_t hash = static_cast<size_t>(request.code) * 31 + request.threads;
  auto mix = [&hash](size_t value) {
    hash ^= value + 0x9e3779b97f4a7c15ull + (hash << 6) + (hash >> 2);
  };
  for (const auto* specs : {&request.in, &request.out}) {
    for (const TensorSpec& spec : *specs) {
      for (int64_t size : spec.sizes) mix(static_cast<size_t>(size));
      mix(static_cast<size_t>(spec.dtype));
      mix(reinterpret_cast<size_t>(spec.layout.get()));
    }
  }
  const Attributes& a = request.attributes;
  mix(a.kernel[0] * 64 + a.stride[0] * 8 + a.padding[0] + a.relu * 4096);
  return hash;
}

namespace {
thread_local std::optional<Device> device_of_plan;
}  // namespace

std::optional<Device> Backend::planning_device() { return device_of_plan; }

PlanPtr Backend::plan(const PlanRequest& request, std::optional<Device> device,
                      const std::function<void()>& drain) {
  if (PlanPtr plan = cached(request)) return plan;
  const bool timed = times_kernels(request.code);
  // Without the lock: the work may wait for a message from another rank of this
  // process, which needs plans, too, before it can send it.
  if (timed && drain) drain();
  if (plans_concurrently() && !timed) {  // loading a kernel may wait for such work
    PlanPtr made = make(request, device);
    const std::lock_guard lock(mutex_);
    return cache_.try_emplace(request, std::move(made)).first->second;
  }
  const std::lock_guard lock(mutex_);
  PlanPtr& slot = cache_[request];
  try {
    if (!slot) slot = make(request, device);
  } catch (...) {
    cache_.erase(request);
    throw;
  }
  return slot;
}

PlanPtr Backend::cached(const PlanRequest& request) {
  const std::lock_guard lock(mutex_);
  const auto found = cache_.find(request);
  return found == cache_.end() ? nullptr : found->second;
}

PlanPtr Backend::make(const PlanRequest& request, std::optional<Device> device) {
  tracer::HostEvent event("op", "lockstep::create_plan");
  event.arg({tracer::keys::kernel, name(request.code)});
  const auto here = std::source_location::current();
  event.arg({tracer::keys::file, here.file_name()});
  event.arg({tracer::keys::line, int64_t{here.line()}});
  const auto outer = std::exchange(device_of_plan, device);
  try {
    PlanPtr made = make_plan(request);
    device_of_plan = outer;
    return made;
  } catch (...) {
    device_of_plan = outer;
    throw;
  }
}

void Backend::clear_cache() {
  std::lock_guard lock(mutex_);
  cache_.clear();
}

BackendOptions& backend_options() {
  static BackendOptions options;
  return options;
}

bool is_benchmarked(OpCode code) {
  const bool is_convolution = code == OpCode::conv2d ||
                              code == OpCode::conv2d_backward_data ||
                              code == OpCode::conv2d_backward_weight;
  const BackendOptions& options = backend_options();
  return is_convolution && options.benchmark && !options.deterministic;
}

bool has_backend(DeviceType type) {
  switch (type) {
    case DeviceType::reference:
    case DeviceType::null:
    case DeviceType::emulated:
      return true;
#ifdef LOCKSTEP_HAS_DNNL
    case DeviceType::cpu:
      return true;
#endif
#ifdef LOCKSTEP_HAS_CUDA
    case DeviceType::cuda:
      return true;
#endif
    default:
      return false;
  }
}

Backend& backend_of(DeviceType type) {
  // Never destroyed: streams may still be running tasks at process exit.
  static Backend* const reference = new ReferenceBackend;
  static Backend* const null = new NullBackend("null");
  static Backend* const emulated = new NullBackend("emulated");
#ifdef LOCKSTEP_HAS_DNNL
  static Backend* const cpu = new CpuBackend;
  if (type == DeviceType::cpu) return *cpu;
#endif
  if (type == DeviceType::reference) return *reference;
  if (type == DeviceType::null) return *null;
  if (type == DeviceType::emulated) return *emulated;
  if (type == DeviceType::cpu) {
    throw std::runtime_error(
        "this build has no oneDNN, so --device-type cpu is unavailable; fix: use "
        "--device-type reference, or install libdnnl-dev and rebuild");
  }
  const CudaModule& cuda = cuda_module();
  if (cuda.backend == nullptr) throw std::runtime_error(cuda.why_not);
  return *cuda.backend;
}

}  // namespace lockstep
