// One element in, one element out. The machine calls each for every i, in any order.
#pragma once

#include "engine/backends/cuda/kernels/philox.h"
#include "engine/tensor/dtype.h"

namespace lockstep::cuda {

/// Turns [n, b, a] into [n, a, b], and converts: N×C×H×W ⇄ N×H×W×C. `i` counts the
/// output. With a = 1 nothing turns.
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

template <class Word>
struct CopyWords {
  const Word* in;
  Word* out;
  LOCKSTEP_BOTH void operator()(Index i) const { out[i] = in[i]; }
};

template <class T>
struct Relu {
  const T* x;
  T* y;
  LOCKSTEP_BOTH void operator()(Index i) const {
    const float value = float(x[i]);
    y[i] = T(value < 0 ? 0 : value);  // NaN stays
  }
};

template <class T>
struct ReluBackward {
  const T *dy, *y;
  T* dx;
  LOCKSTEP_BOTH void operator()(Index i) const {
    dx[i] = float(y[i]) > 0 ? dy[i] : T(0.0f);
  }
};

template <class T>
struct Add {
  const T *a, *b;
  T* y;
  bool relu;
  LOCKSTEP_BOTH void operator()(Index i) const {
    const float sum = float(a[i]) + float(b[i]);
    y[i] = T(relu && sum < 0 ? 0 : sum);
  }
};

/// y += bias of the channel, which is the innermost dimension.
template <class T>
struct AddBias {
  const float* bias;
  T* y;
  Index channels;
  bool relu;
  LOCKSTEP_BOTH void operator()(Index i) const {
    const float sum = float(y[i]) + (bias ? bias[i % channels] : 0.0f);
    y[i] = T(relu && sum < 0 ? 0 : sum);
  }
};

enum class Pairwise { subtract, multiply, divide };

/// `step` 0: b is one number.
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

/// A message of a ring joins what is there.
template <class T>
struct Reduce {
  T* into;
  const T* from;
  ReduceOp op;
  LOCKSTEP_BOTH void operator()(Index i) const {
    const T a = into[i], b = from[i];
    into[i] = op == ReduceOp::sum ? T(a + b) : (op == ReduceOp::min) == (b < a) ? b : a;
  }
};

template <class T>
struct Fill {
  T* y;
  T value;
  LOCKSTEP_BOTH void operator()(Index i) const { y[i] = value; }
};

/// Four elements share a block of random words: `i` counts the blocks.
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
