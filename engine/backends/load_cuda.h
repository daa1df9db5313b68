// The CUDA backend is a shared library of its own: a CPU run never maps cuDNN.
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

/// What liblockstep_cuda.so tells of itself and of this machine. Made once, never
/// ended.
struct CudaModule {
  Backend* backend = nullptr;     ///< null without a GPU
  std::vector<std::string> gpus;  ///< their names
  std::string libraries;          ///< `CUDA 13.0, cuDNN 9.19, NCCL 2.28`
  std::string why_not;            ///< no GPU: what is missing
  /// Null where it was built without NCCL.
  std::unique_ptr<distributed::Communicator> (*make_nccl)(
      const distributed::CommunicatorOptions&) = nullptr;
  /// NCCL between devices of this process; null where two of them share a GPU. Itself
  /// null where it was built without NCCL.
  std::unique_ptr<parallel::DeviceGroup> (*make_device_group)(
      const std::vector<Device>&) = nullptr;
  /// Readies the profiler that tells when the GPU worked, for traces; call it before
  /// training, since it takes a while. Returns why there is none; empty: there is one.
  std::string (*prepare_timeline)() = nullptr;
};

/// The name of the library's one symbol, and its type.
inline constexpr const char* kCudaModuleSymbol = "lockstep_cuda_module";
using CudaModuleFunction = const CudaModule*();

/// Loads the library beside the engine's own, on the first call. Thread-safe. Throws
/// std::runtime_error with the fix where this build has none or it cannot be loaded.
const CudaModule& cuda_module();
/// `use --device-type cpu (virtual devices)`, or reference where there is no oneDNN.
std::string instead_of_cuda();
/// Takes the library's place, for tests. Before the first call of `cuda_module`.
void stand_in_for_cuda(const CudaModule* module);

}  // namespace lockstep
