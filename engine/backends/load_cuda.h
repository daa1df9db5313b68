// The CUDA backend is a separate shared library: CPU runs never map cuDNN.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/tensor/device.h"

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
  Backend* backend = nullptr;     ///< null without a GPU
  std::vector<std::string> gpus;  ///< device names
  std::string libraries;          ///< `CUDA 13.0, cuDNN 9.19, NCCL 2.28`
  std::string why_not;            ///< no GPU: what is missing
  /// Null if built without NCCL.
  std::unique_ptr<distributed::Communicator> (*make_nccl)(
      const distributed::CommunicatorOptions&) = nullptr;
  /// NCCL between devices of this process; returns null if two of them share a GPU. The
  /// pointer is null if built without NCCL.
  std::unique_ptr<parallel::DeviceGroup> (*make_device_group)(
      const std::vector<Device>&) = nullptr;
  /// Prepares the profiler that times the GPU's work for traces; must be called before
  /// training, since it takes a while. Returns why there is none; empty on success.
  std::string (*prepare_timeline)() = nullptr;
};

/// The name of the library's only symbol, and its type.
inline constexpr const char* kCudaModuleSymbol = "lockstep_cuda_module";
using CudaModuleFunction = const CudaModule*();

/// Loads the library from the engine's folder on the first call. Thread-safe. Throws
/// std::runtime_error with the fix if this build has none or it cannot be loaded.
const CudaModule& cuda_module();
/// Returns `use --device-type cpu (virtual devices)`, or reference without oneDNN.
std::string instead_of_cuda();
/// Replaces the library, for tests. Must be called before `cuda_module`.
void stand_in_for_cuda(const CudaModule* module);

}  // namespace lockstep
