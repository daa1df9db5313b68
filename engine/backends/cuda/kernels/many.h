// One launch for many tensors: a table of them travels with the launch. The machine
// calls f(t, i) for every element i < size(t) of every tensor t < count.
#pragma once

#include "engine/backends/cuda/kernels/element.h"

namespace lockstep::cuda {

/// At most: a launch's arguments are limited to 4 KiB.
inline constexpr Index kMany = 64;

/// PyTorch's SGD, all parameters at once; see reference/elementwise.cpp.
struct Sgd {
  struct Entry {
    float* parameter;
    const float* gradient;
    float* buffer;
    Index size;
  } entry[kMany];
  Index count;
  float lr, momentum, decay;
  bool first;  ///< the buffers begin as the gradients

  LOCKSTEP_BOTH Index size(Index t) const { return entry[t].size; }
  LOCKSTEP_BOTH void operator()(Index t, Index i) const {
    const Entry& e = entry[t];
    float d = e.gradient[i] + decay * e.parameter[i];
    if (momentum != 0) {
      if (!first) d += momentum * e.buffer[i];
      e.buffer[i] = d;
    }
    e.parameter[i] -= lr * d;
  }
};

/// n tensors one after the other in `out`.
template <class Word>
struct Flatten {
  struct Entry {
    const Word* in;
    Word* out;
    Index size;
  } entry[kMany];
  Index count;

  LOCKSTEP_BOTH Index size(Index t) const { return entry[t].size; }
  LOCKSTEP_BOTH void operator()(Index t, Index i) const {
    entry[t].out[i] = entry[t].in[i];
  }
};

}  // namespace lockstep::cuda
