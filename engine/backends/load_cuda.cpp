#include "engine/backends/load_cuda.h"

#include <dlfcn.h>

#include <atomic>
#include <stdexcept>

#include "engine/backends/backend.h"
#include "engine/backends/engine_folder.h"

namespace lockstep {

namespace {

const CudaModule* stand_in = nullptr;

#ifdef LOCKSTEP_HAS_CUDA
const CudaModule* load() {
  const std::string path = engine_folder() + "/liblockstep_cuda.so";
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);  // never closed
  if (library == nullptr) {
    throw std::runtime_error(
        "the CUDA backend cannot be loaded: " + std::string(dlerror()) +
        "; fix: install the missing library, or " + instead_of_cuda());
  }
  auto* function =
      reinterpret_cast<CudaModuleFunction*>(dlsym(library, kCudaModuleSymbol));
  if (function == nullptr) {
    throw std::runtime_error(path +
                             " is not a CUDA backend for this build; fix: rebuild");
  }
  return function();
}
#else
const CudaModule* load() {
  throw std::runtime_error("this build has no CUDA backend; fix: " + instead_of_cuda() +
                           ", or install the CUDA toolkit and cuDNN and rebuild");
}
#endif

}  // namespace

std::string instead_of_cuda() {
  const bool cpu = has_backend(DeviceType::cpu);
  return std::string("use --device-type ") + (cpu ? "cpu" : "reference") +
         " (virtual devices)";
}

const CudaModule& cuda_module() {
  static const CudaModule* const module = stand_in ? stand_in : load();
  return *module;
}

void stand_in_for_cuda(const CudaModule* module) { stand_in = module; }

CudaStatus cuda_status() {
  CudaStatus status;
#ifdef LOCKSTEP_HAS_CUDA
  status.built = true;
#endif
  try {
    const CudaModule& module = cuda_module();
    status.gpus = module.gpus;
    status.libraries = module.libraries;
    status.why_not = module.why_not;
  } catch (const std::exception& error) {
    status.why_not = error.what();
  }
  return status;
}

namespace {

std::atomic<int> gpu_shift{0};

}  // namespace

void set_gpu_shift(int shift) { gpu_shift = shift; }

int gpu_of_device(int device, int gpus) {
  const int gpu = (device + gpu_shift) % gpus;
  return gpu < 0 ? gpu + gpus : gpu;
}

}  // namespace lockstep
