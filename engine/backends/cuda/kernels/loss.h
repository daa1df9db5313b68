// Cross entropy and accuracy; formulas in reference/loss.cpp. One thread takes a row:
// rows are as long as there are classes, and there are few of them.
#pragma once

#include <cmath>

#include "engine/backends/cuda/kernels/element.h"

namespace lockstep::cuda {

/// What a kernel found wrong, for the host to read: kernels cannot throw.
struct Fault {
  int32_t found = 0;
  int64_t label = 0;  ///< one that is no class
};

LOCKSTEP_BOTH inline bool is_class(int64_t label, Index classes, Fault* fault) {
  if (label >= 0 && label < int64_t(classes)) return true;
  fault->label = label;
  fault->found = 1;
  return false;
}

struct LogSoftmax {
  const float* x;
  float* y;
  Index classes;
  LOCKSTEP_BOTH void operator()(Index row) const {
    const float* in = x + row * classes;
    float largest = in[0], sum = 0;
    for (Index c = 1; c < classes; ++c) largest = in[c] > largest ? in[c] : largest;
    for (Index c = 0; c < classes; ++c) sum += expf(in[c] - largest);
    const float log_sum = largest + logf(sum);
    for (Index c = 0; c < classes; ++c) y[row * classes + c] = in[c] - log_sum;
  }
};

struct LogSoftmaxBackward {
  const float *dy, *y;
  float* dx;
  Index classes;
  LOCKSTEP_BOTH void operator()(Index row) const {
    const Index start = row * classes;
    float sum = 0;
    for (Index i = start; i < start + classes; ++i) sum += dy[i];
    for (Index i = start; i < start + classes; ++i) dx[i] = dy[i] - expf(y[i]) * sum;
  }
};

/// A column sum (see normalization.h) with one column.
struct NllLoss {
  using Sum = float;
  const float* log_p;
  const int64_t* labels;
  float* loss;
  Fault* fault;
  Index rows, classes;
  float smoothing;
  bool mean;

  LOCKSTEP_BOTH void add(Sum& sum, Index row, Index) const {
    const float* p = log_p + row * classes;
    if (!is_class(labels[row], classes, fault)) return;
    sum -= (1 - smoothing) * p[labels[row]];
    if (smoothing <= 0) return;
    float all = 0;
    for (Index c = 0; c < classes; ++c) all -= p[c];
    sum += smoothing / float(classes) * all;
  }
  LOCKSTEP_BOTH void join(Sum& sum, const Sum& other) const { sum += other; }
  LOCKSTEP_BOTH void finish(Index, const Sum& sum) const {
    *loss = mean ? sum / float(rows) : sum;
  }
};

struct NllLossBackward {
  const float* dloss;
  const int64_t* labels;
  float* dx;
  Fault* fault;
  Index rows, classes;
  float smoothing;
  bool mean;
  LOCKSTEP_BOTH void operator()(Index i) const {
    const Index row = i / classes, c = i % classes;
    const float share = *dloss / (mean ? float(rows) : 1.0f);
    float value = smoothing > 0 ? -share * smoothing / float(classes) : 0.0f;
    if (c == 0) is_class(labels[row], classes, fault);
    if (int64_t(c) == labels[row]) value -= share * (1 - smoothing);
    dx[i] = value;
  }
};

/// A column sum with one column: the percentage of rows whose label is in the top k.
struct TopK {
  using Sum = float;
  const float* logits;
  const int64_t* labels;
  float* percent;
  Fault* fault;
  Index rows, classes;
  int64_t k;

  LOCKSTEP_BOTH void add(Sum& sum, Index row, Index) const {
    const float* x = logits + row * classes;
    const int64_t label = labels[row];
    if (!is_class(label, classes, fault)) return;
    int64_t larger = 0;
    for (Index c = 0; c < classes; ++c) {
      larger += x[c] > x[label] || (x[c] == x[label] && int64_t(c) < label);
    }
    sum += larger < k;
  }
  LOCKSTEP_BOTH void join(Sum& sum, const Sum& other) const { sum += other; }
  LOCKSTEP_BOTH void finish(Index, const Sum& sum) const {
    *percent = 100.0f * sum / float(rows);
  }
};

/// The gradient of a bias: each channel's sum over rows. A column sum.
template <class T>
struct SumRows {
  using Sum = float;
  const T* x;
  float* out;
  Index channels;
  LOCKSTEP_BOTH void add(Sum& sum, Index row, Index c) const {
    sum += float(x[row * channels + c]);
  }
  LOCKSTEP_BOTH void join(Sum& sum, const Sum& other) const { sum += other; }
  LOCKSTEP_BOTH void finish(Index c, const Sum& sum) const { out[c] = sum; }
};

}  // namespace lockstep::cuda
