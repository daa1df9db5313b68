// The single entry point of the library (engine/backends/load_cuda.h), and its table of
// operations.

#include <cstdlib>

#include "engine/backends/cuda/cupti_timeline.h"
#include "engine/backends/cuda/gpu.h"
#include "engine/backends/cuda/gpus.h"
#include "engine/backends/cuda/plans/table.h"
#include "engine/backends/cuda/queue.h"
#include "engine/backends/cuda/status.h"
#include "engine/backends/load_cuda.h"
#ifdef LOCKSTEP_HAS_NCCL
#include "engine/distributed/collectives/nccl/nccl_communicator.h"
#include "engine/distributed/collectives/nccl/nccl_device_group.h"
#endif

namespace lockstep {
namespace {

struct CudaBackend : Backend {
  runtime::Driver* driver() override { return &driver_; }
  bool can_fuse_relu(OpCode code) const override { return cuda::takes_relu(code); }
  bool can_fuse_relu_backward(OpCode code) const override {
    return cuda::takes_relu_backward(code);
  }
  bool can_fuse_add(OpCode code) const override { return cuda::takes_add(code); }
  bool can_fuse_sum(OpCode code) const override { return cuda::takes_sum(code); }
  LayoutPtr convolution_layout(const TensorSpec& tensor) const override {
    return cuda::convolution_layout(tensor);
  }

 protected:
  PlanPtr make_plan(const PlanRequest& request) override {
    return cuda::make_plan<cuda::Gpu>(request);
  }
  bool times_kernels(OpCode code) const override { return is_benchmarked(code); }
  bool plans_concurrently() const override { return true; }

 private:
  cuda::CudaDriver driver_;
};

/// Returns the library versions, such as `CUDA 13.0, cuDNN 9.19, NCCL 2.28`.
std::string versions() {
  int runtime = 0;
  cudaRuntimeGetVersion(&runtime);
  const auto cudnn = static_cast<int>(cudnnGetVersion());
  std::string text = "CUDA " + std::to_string(runtime / 1000) + "." +
                     std::to_string(runtime % 1000 / 10) + ", cuDNN " +
                     std::to_string(cudnn / 10000) + "." +
                     std::to_string(cudnn % 10000 / 100);
#ifdef LOCKSTEP_HAS_NCCL
  int nccl = 0;
  ncclGetVersion(&nccl);
  text += ", NCCL " + std::to_string(nccl / 10000) + "." +
          std::to_string(nccl % 10000 / 100);
#endif
  return text;
}

CudaModule make_module() {
  // The number of concurrent hardware queues. Each device needs three, and several
  // devices may share a GPU.
  ::setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  CudaModule module;
  module.gpus = cuda::gpus().names;
  module.why_not = cuda::gpus().why_not;
  module.libraries = versions();
  if (module.gpus.empty()) return module;
  module.backend = new CudaBackend;
  module.prepare_timeline = cuda::CuptiTimeline::prepare;
#ifdef LOCKSTEP_HAS_NCCL
  module.make_nccl = distributed::make_nccl;
  module.make_device_group = parallel::make_nccl_group;
#endif
  return module;
}

}  // namespace
}  // namespace lockstep

extern "C" const lockstep::CudaModule* lockstep_cuda_module() {
  static const auto* const module = new lockstep::CudaModule(lockstep::make_module());
  return module;
}
