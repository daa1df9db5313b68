// Elementwise kernels. The machine calls each for every i, in any order.
#pragma once

#include "engine/backends/cuda/kernels/element.h"
#include "engine/tensor/types.h"

namespace lockstep::cuda {

/// Transposes [n, b, a] to [n, a, b] and converts: N×C×H×W ⇄ N×H×W×C. `i` indexes the
/// output. With a = 1, nothing is transposed.
template <class From, class To>
struct Turn {
  const From* in;
  To* out;
  Index a, b;
  LOCKSTEP_BOTH void operator()(Index i) const {
    const Index n = i / (a * b), rest = i - n * (a * b);
    out[i] = To(float(in[n * (a * b) + rest % b * a + rest / b]));
  }
};

/// Copies images of `few` channels to N×H×W×`many`; the other channels become 0. `i`
/// indexes the output. The input's channels and pixels are `channel` and `pixel`
/// elements apart.
template <class From, class To>
struct Pad {
  const From* in;
  To* out;
  Index plane, few, many, channel, pixel;
  LOCKSTEP_BOTH void operator()(Index i) const {
    const Index c = i % many, nth = i / many, n = nth / plane, p = nth - n * plane;
    out[i] = To(c < few ? float(in[n * few * plane + c * channel + p * pixel]) : 0.0f);
  }
};

/// The opposite, to N×`few`×H×W.
template <class From, class To>
struct Unpad {
  const From* in;
  To* out;
  Index plane, few, many;
  LOCKSTEP_BOTH void operator()(Index i) const {
    const Index p = i % plane, nth = i / plane, n = nth / few, c = nth - n * few;
    out[i] = To(float(in[(n * plane + p) * many + c]));
  }
};

template <class Word>
struct CopyWords {
  const Word* in;
  Word* out;
  LOCKSTEP_BOTH void operator()(Index i) const { out[i] = in[i]; }
};

// The following kernels process N elements at once; `i` indexes packs.

template <class T, int N>
struct Relu {
  const T* x;
  T* y;
  LOCKSTEP_BOTH void operator()(Index i) const {
    Pack<T, N> values = packs<N>(x)[i];
    for (T& value : values.at) {
      if (float(value) < 0) value = T(0.0f);  // keeps NaN
    }
    packs<N>(y)[i] = values;
  }
};

template <class T, int N>
struct ReluBackward {
  const T *dy, *y;
  T* dx;
  LOCKSTEP_BOTH void operator()(Index i) const {
    Pack<T, N> grads = packs<N>(dy)[i];
    const Pack<T, N> values = packs<N>(y)[i];
    for (int j = 0; j < N; ++j) {
      if (!(float(values.at[j]) > 0)) grads.at[j] = T(0.0f);
    }
    packs<N>(dx)[i] = grads;
  }
};

/// Computes a + b, then applies an optional ReLU, or the gradient of a ReLU whose
/// output is `mask`.
template <class T, int N>
struct Add {
  const T *a, *b, *mask;  ///< `mask`: null if none
  T* y;
  bool relu;

  struct Loaded {
    Pack<T, N> a, b, mask;
  };
  LOCKSTEP_BOTH Loaded load(Index i) const {
    Loaded in{packs<N>(a)[i], packs<N>(b)[i], {}};
    if (mask) in.mask = packs<N>(mask)[i];
    return in;
  }
  LOCKSTEP_BOTH Pack<T, N> sums(const Loaded& in) const {
    Pack<T, N> sums;
    for (int j = 0; j < N; ++j) {
      const float sum = float(in.a.at[j]) + float(in.b.at[j]);
      const bool zero = (relu && sum < 0) || (mask && !(float(in.mask.at[j]) > 0));
      sums.at[j] = T(zero ? 0.0f : sum);
    }
    return sums;
  }
  LOCKSTEP_BOTH void operator()(Index i) const { packs<N>(y)[i] = sums(load(i)); }
};

/// Adds to each y the bias of its channel (the innermost dimension), then applies an
/// optional ReLU.
template <class T, int N>
struct AddBias {
  const float* bias;
  T* y;
  bool relu;

  struct Column {
    float bias[N];
  };
  LOCKSTEP_BOTH Column column(Index c) const {
    Column channels;
    for (int j = 0; j < N; ++j) channels.bias[j] = bias ? bias[c * N + j] : 0.0f;
    return channels;
  }
  LOCKSTEP_BOTH Pack<T, N> load(Index i) const { return packs<N>(y)[i]; }
  LOCKSTEP_BOTH void operator()(const Column& channels, Pack<T, N> values,
                                Index i) const {
    for (int j = 0; j < N; ++j) {
      const float sum = float(values.at[j]) + channels.bias[j];
      values.at[j] = T(relu && sum < 0 ? 0 : sum);
    }
    packs<N>(y)[i] = values;
  }
};

enum class Pairwise { subtract, multiply, divide };

/// If `step` is 0, b is a scalar.
template <class T>
struct PairwiseOp {
  const T *a, *b;
  T* y;
  Index step;
  Pairwise what;
  LOCKSTEP_BOTH void operator()(Index i) const {
    const float left = float(a[i]), right = float(b[i * step]);
    y[i] = T(what == Pairwise::subtract   ? left - right
             : what == Pairwise::multiply ? left * right
                                          : left / right);
  }
};

template <class T>
struct Scale {
  const T* x;
  T* y;
  float factor;
  LOCKSTEP_BOTH void operator()(Index i) const { y[i] = T(float(x[i]) * factor); }
};

/// Combines a ring's message with the local data.
template <class T>
struct Reduce {
  T* into;
  const T* from;
  ReduceOp op;
  LOCKSTEP_BOTH void operator()(Index i) const {
    const T a = into[i], b = from[i];
    if (op == ReduceOp::sum) {
      into[i] = T(a + b);
    } else if (op == ReduceOp::min ? b < a : a < b) {
      into[i] = b;
    }
  }
};

template <class T>
struct Fill {
  T* y;
  T value;
  LOCKSTEP_BOTH void operator()(Index i) const { y[i] = value; }
};

/// Normalises the bytes of images N×3×H×W; `i` indexes the output, whose channels are
/// last if `nhwc`. Divides as the host does, so that the results have the same bits.
template <class T>
struct NormalizeImages {
  const uint8_t* x;
  T* y;
  Index plane;
  bool nhwc;
  float mean[3], std[3];
  LOCKSTEP_BOTH void operator()(Index i) const {
    const Index n = i / (3 * plane), rest = i - n * (3 * plane);
    const Index channel = nhwc ? rest % 3 : rest / plane;
    const Index pixel = nhwc ? rest / 3 : rest % plane;
    const float scaled = float(x[(n * 3 + channel) * plane + pixel]) / 255.0f;
    y[i] = T((scaled - mean[channel]) / std[channel]);
  }
};

/// Four elements share a block of random words; `i` indexes blocks.
struct Dropout {
  const float* x;
  float* y;
  uint8_t* mask;
  Index count;
  uint64_t key, stream;
  uint32_t limit;  ///< p · 2^32
  float factor;
  LOCKSTEP_BOTH void operator()(Index i) const {
    const PhiloxWords random = philox(key, i, stream);
    for (Index j = 4 * i; j < 4 * i + 4 && j < count; ++j) {
      const bool keep = random.word[j - 4 * i] >= limit;
      mask[j] = keep;
      y[j] = keep ? x[j] * factor : 0.0f;
    }
  }
};

struct DropoutBackward {
  const float* dy;
  const uint8_t* mask;
  float* dx;
  float factor;
  LOCKSTEP_BOTH void operator()(Index i) const {
    dx[i] = mask[i] ? dy[i] * factor : 0.0f;
  }
};

}  // namespace lockstep::cuda
