#include "engine/backends/cuda/gpus.h"

#include "engine/backends/cuda/status.h"

namespace lockstep::cuda {
namespace {

constexpr const char* kMend = "; use --device-type cpu (virtual devices)";

Gpus ask() {
  Gpus found;
  int driver = 0, count = 0;
  const cudaError_t version = cudaDriverGetVersion(&driver);
  if (version != cudaSuccess || driver == 0) {
    found.why_not = std::string("no CUDA driver: install NVIDIA's, or run in a ") +
                    "container that is given its GPUs (docker run --gpus all)" + kMend;
    return found;
  }
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaErrorInsufficientDriver) {
    int runtime = 0;
    cudaRuntimeGetVersion(&runtime);
    found.why_not = "the CUDA driver is for CUDA " + std::to_string(driver / 1000) +
                    ", this program for CUDA " + std::to_string(runtime / 1000) +
                    ": install a newer driver" + kMend;
    return found;
  }
  if (status != cudaSuccess || count == 0) {
    found.why_not = std::string("no CUDA GPU: ") + cudaGetErrorString(status) + kMend;
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
  return device.index % static_cast<int>(gpus().names.size());
}

GpuScope::GpuScope(int gpu) {
  check(cudaGetDevice(&outer_), "cudaGetDevice");
  check(cudaSetDevice(gpu), "cudaSetDevice");
}

GpuScope::~GpuScope() { cudaSetDevice(outer_); }

}  // namespace lockstep::cuda
