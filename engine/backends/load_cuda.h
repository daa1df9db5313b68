// The CUDA backend is a separate shared library, so that CPU runs never load cuDNN.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/tensor/types.h"

namespace lockstep {

struct Backend;

namespace parallel {
class DeviceGroup;
}
namespace distributed {
class Communicator;
struct CommunicatorOptions;
}  // namespace distributed

/// Entry points and device information exported by the CUDA library; never destroyed.
struct CudaModule {
  Backend* backend = nullptr;     ///< null if there is no GPU
  std::vector<std::string> gpus;  ///< device names
  std::string libraries;          ///< `CUDA 13.0, cuDNN 9.19, NCCL 2.28`
  std::string why_not;            ///< if there is no GPU: what is missing
  /// Null if built without NCCL.
  std::unique_ptr<distributed::Communicator> (*make_nccl)(
      const distributed::CommunicatorOptions&) = nullptr;
  /// Creates an NCCL group of devices in this process; returns null if two devices
  /// share a GPU. The pointer is null if built without NCCL.
  std::unique_ptr<parallel::DeviceGroup> (*make_device_group)(
      const std::vector<Device>&) = nullptr;
  /// Prepares the profiler that times GPU work for traces. Must be called before
  /// training, since it is slow. Returns an error message, or empty on success.
  std::string (*prepare_timeline)() = nullptr;
};

/// The name and type of the library's only exported symbol.
inline constexpr const char* kCudaModuleSymbol = "lockstep_cuda_module";
using CudaModuleFunction = const CudaModule*();

/// Loads the library from the engine's folder on the first call. Thread-safe. Throws
/// std::runtime_error, naming a fix, if this build lacks it or it cannot be loaded.
const CudaModule& cuda_module();
/// Returns `use --device-type cpu (virtual devices)`; without oneDNN, `reference`.
std::string instead_of_cuda();
/// Replaces the library, for tests. Must be called before `cuda_module`.
void stand_in_for_cuda(const CudaModule* module);

/// Added to a device's number to choose its GPU. 0 in one process, where device i is on
/// GPU i. Devices of ranks are numbered across machines, GPUs on each of them: in the
/// process of a rank, it is the rank on its machine minus the rank.
void set_gpu_shift(int shift);

/// Returns the GPU of a device, of `gpus`; devices share them if there are fewer.
int gpu_of_device(int device, int gpus);

}  // namespace lockstep
