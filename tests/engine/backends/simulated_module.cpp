// The simulated GPU as a library that replaces liblockstep_cuda.so, so that the whole
// program can use it (tests/e2e/simulated_gpu_test.py).
#include "tests/engine/backends/simulated_gpu.h"

extern "C" const lockstep::CudaModule* lockstep_cuda_module() {
  return lockstep::test::simulated_module();
}
