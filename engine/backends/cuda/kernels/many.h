// One launch for many tensors, with a table of them as its argument. The machine calls
// f(t, i) for every element i < size(t) of every tensor t < count.
#pragma once

#include "engine/backends/cuda/kernels/element.h"

namespace lockstep::cuda {

/// Tensors per launch, limited by the 4 KiB of a launch's arguments.
inline constexpr Index kMany = 64;

/// PyTorch's SGD for all parameters at once; see reference/elementwise.cpp.
struct Sgd {
  struct Entry {
    float* parameter;
    const float* gradient;
    float* buffer;
    Index size;
  } entry[kMany];
  Index count;
  float lr, momentum, decay;
  bool first;  ///< initialise the buffers with the gradients

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

/// Concatenates tensors: copies each to its place in the output.
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
