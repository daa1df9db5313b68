#include "engine/backends/cuda/gpus.h"

#include <algorithm>
#include <atomic>

#include "engine/backends/cuda/status.h"
#include "engine/backends/load_cuda.h"

namespace lockstep::cuda {
namespace {

Gpus ask() {
  const std::string instead = instead_of_cuda();
  Gpus found;
  int driver = 0, count = 0;
  const cudaError_t version = cudaDriverGetVersion(&driver);
  if (version != cudaSuccess || driver == 0) {
    found.why_not =
        std::string(
            "no CUDA driver found; fix: install NVIDIA's driver, or run in a ") +
        "container with access to the GPUs (docker run --gpus all), or " + instead;
    return found;
  }
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaErrorInsufficientDriver) {
    int runtime = 0;
    cudaRuntimeGetVersion(&runtime);
    found.why_not = "the CUDA driver supports CUDA " + std::to_string(driver / 1000) +
                    ", but this program was built for CUDA " +
                    std::to_string(runtime / 1000) +
                    "; fix: install a newer driver, or " + instead;
    return found;
  }
  if (status != cudaSuccess || count == 0) {
    found.why_not = std::string("no CUDA GPU found: ") + cudaGetErrorString(status) +
                    "; fix: " + instead;
    return found;
  }
  for (int gpu = 0; gpu < count; ++gpu) {
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, gpu), "cudaGetDeviceProperties");
    found.names.push_back(std::string(properties.name) + " (sm_" +
                          std::to_string(properties.major) +
                          std::to_string(properties.minor) + ", " +
                          std::to_string(properties.totalGlobalMem >> 30) + " GiB)");
  }
  return found;
}

}  // namespace

const Gpus& gpus() {
  static const Gpus* const found = new Gpus(ask());
  return *found;
}

int gpu_of(Device device) {
  if (gpus().names.empty()) throw std::runtime_error(gpus().why_not);
  return gpu_of_device(device.index, static_cast<int>(gpus().names.size()));
}

namespace {

thread_local int current_gpu = -1;
std::atomic<int> first_gpu{-1};

void choose(int gpu) {
  if (current_gpu == gpu) return;
  check(cudaSetDevice(gpu), "cudaSetDevice");
  current_gpu = gpu;
}

}  // namespace

GpuScope::GpuScope(int gpu) : outer_(current_gpu) { choose(gpu); }

GpuScope::~GpuScope() {
  if (outer_ < 0 || outer_ == current_gpu) return;
  current_gpu = outer_;
  cudaSetDevice(outer_);
}

int planning_gpu() { return std::max(0, first_gpu.load()); }

void use_for_planning(int gpu) {
  int none = -1;
  first_gpu.compare_exchange_strong(none, gpu);
}

}  // namespace lockstep::cuda
