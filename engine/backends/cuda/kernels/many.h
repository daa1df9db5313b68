// One launch for many tensors, with a table of them as its argument. The machine calls
// f(t, i) for every element i < size(t) of every tensor t < count.
#pragma once

#include "engine/backends/cuda/kernels/elementwise.h"

namespace lockstep::cuda {

/// Tensors per launch: their table must fit in the 4 KiB of a kernel's arguments.
inline constexpr Index kMany = 64;

/// A gradient in plain order, or in the order O×kH×kW×C of a convolution's weights.
struct Gradient {
  const float* data;
  Index channels, plane;  ///< C and kH · kW; both 0 if the order is plain

  /// Returns the element whose plain index is `i`.
  LOCKSTEP_BOTH float operator[](Index i) const {
    if (plane == 0) return data[i];
    const Index filter = i / (channels * plane) * (channels * plane), rest = i - filter;
    return data[filter + rest % plane * channels + rest / plane];
  }
};

/// PyTorch's SGD for all parameters at once; see reference/optimizers.cpp.
struct Sgd {
  struct Entry {
    float* parameter;
    Gradient gradient;
    float* buffer;
    Index size;
  } entry[kMany];
  Index count;
  float lr, momentum, decay;
  bool first;  ///< initialise the buffers with the gradients
  bool nesterov;

  LOCKSTEP_BOTH Index size(Index t) const { return entry[t].size; }
  LOCKSTEP_BOTH void operator()(Index t, Index i) const {
    const Entry& e = entry[t];
    const float d = e.gradient[i] + decay * e.parameter[i];
    float moved = d;
    if (momentum != 0 && !first) moved += momentum * e.buffer[i];
    e.buffer[i] = moved;
    e.parameter[i] -= lr * (nesterov ? d + momentum * moved : moved);
  }
};

/// PyTorch's Adam, likewise.
struct Adam {
  struct Entry {
    float* parameter;
    Gradient gradient;
    float *average, *square, *largest;  ///< `largest`: amsgrad's, else null
    Index size;
  } entry[kMany];
  Index count;
  float step_size, beta1, beta2, rest1, rest2, root, eps, decay, shrink;
  bool first;  ///< the state is uninitialized, and stands for zero

  LOCKSTEP_BOTH Index size(Index t) const { return entry[t].size; }
  LOCKSTEP_BOTH void operator()(Index t, Index i) const {
    const Entry& e = entry[t];
    const float d = e.gradient[i] + decay * e.parameter[i];
    const float m = (first ? 0 : beta1 * e.average[i]) + rest1 * d;
    float v = (first ? 0 : beta2 * e.square[i]) + rest2 * d * d;
    e.average[i] = m;
    e.square[i] = v;
    if (e.largest) {
      if (!first && e.largest[i] > v) v = e.largest[i];
      e.largest[i] = v;
    }
    e.parameter[i] = shrink * e.parameter[i] - step_size * m / (sqrtf(v) / root + eps);
  }
};

/// PyTorch's RMSprop, likewise.
struct Rmsprop {
  struct Entry {
    float* parameter;
    Gradient gradient;
    float *square, *average, *buffer;  ///< `average` and `buffer`: null if unused
    Index size;
  } entry[kMany];
  Index count;
  float lr, alpha, rest, eps, decay, momentum;
  bool first;

  LOCKSTEP_BOTH Index size(Index t) const { return entry[t].size; }
  LOCKSTEP_BOTH void operator()(Index t, Index i) const {
    const Entry& e = entry[t];
    const float d = e.gradient[i] + decay * e.parameter[i];
    float v = (first ? 0 : alpha * e.square[i]) + rest * d * d;
    e.square[i] = v;
    if (e.average) {
      const float a = (first ? 0 : alpha * e.average[i]) + rest * d;
      e.average[i] = a;
      v -= a * a;
    }
    float quotient = d / (sqrtf(v) + eps);
    if (e.buffer) {
      if (!first) quotient += momentum * e.buffer[i];
      e.buffer[i] = quotient;
    }
    e.parameter[i] -= lr * quotient;
  }
};

/// Reorders tensors, each as Turn does.
template <class To>
struct TurnMany {
  struct Entry {
    Turn<float, To> turn;
    Index size;
  } entry[kMany];
  Index count;

  LOCKSTEP_BOTH Index size(Index t) const { return entry[t].size; }
  LOCKSTEP_BOTH void operator()(Index t, Index i) const { entry[t].turn(i); }
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
