// Threads that share a row.
#pragma once

#include "engine/backends/cuda/kernels/element.h"

namespace lockstep::cuda {

/// One of the threads that process a row: each processes every `count`-th element
/// starting at `index`; `sum` and `max` combine the values of all lanes in a fixed
/// order and return the result to all lanes. A GPU warp has 32 lanes; the host has one.
struct Lane {
  Index index = 0, count = 1;

  LOCKSTEP_BOTH float sum(float mine) const {
#ifdef __CUDA_ARCH__
    for (int step = 16; step > 0; step /= 2) {
      mine += __shfl_xor_sync(0xffffffffu, mine, step);
    }
#endif
    return mine;
  }
  LOCKSTEP_BOTH float max(float mine) const {
#ifdef __CUDA_ARCH__
    for (int step = 16; step > 0; step /= 2) {
      const float other = __shfl_xor_sync(0xffffffffu, mine, step);
      mine = other > mine ? other : mine;
    }
#endif
    return mine;
  }
};

}  // namespace lockstep::cuda
