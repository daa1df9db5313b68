// Cross entropy and accuracy; formulas in reference/loss.cpp. The lanes of a warp share
// a row, which has one element per class.
#pragma once

#include <cmath>

#include "engine/backends/cuda/kernels/element.h"

namespace lockstep::cuda {

/// An error reported by a kernel, for the host to read: kernels cannot throw.
struct Fault {
  int32_t found = 0;
  int64_t label = 0;  ///< an invalid class
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
  LOCKSTEP_BOTH void operator()(Index row, const Lane& lane) const {
    const float* in = x + row * classes;
    float largest = in[0], sum = 0;
    for (Index c = lane.index; c < classes; c += lane.count) {
      largest = in[c] > largest ? in[c] : largest;
    }
    largest = lane.max(largest);
    for (Index c = lane.index; c < classes; c += lane.count) {
      sum += expf(in[c] - largest);
    }
    const float log_sum = largest + logf(lane.sum(sum));
    for (Index c = lane.index; c < classes; c += lane.count) {
      y[row * classes + c] = in[c] - log_sum;
    }
  }
};

struct LogSoftmaxBackward {
  const float *dy, *y;
  float* dx;
  Index classes;
  LOCKSTEP_BOTH void operator()(Index row, const Lane& lane) const {
    const Index start = row * classes + lane.index, end = (row + 1) * classes;
    float sum = 0;
    for (Index i = start; i < end; i += lane.count) sum += dy[i];
    sum = lane.sum(sum);
    for (Index i = start; i < end; i += lane.count) dx[i] = dy[i] - expf(y[i]) * sum;
  }
};

/// Computes a row's contribution to the loss; contributions are summed later.
struct NllLoss {
  const float* log_p;
  const int64_t* labels;
  float* parts;
  Fault* fault;
  Index classes;
  float smoothing;

  LOCKSTEP_BOTH void operator()(Index row, const Lane& lane) const {
    const float* p = log_p + row * classes;
    float all = 0;
    for (Index c = lane.index; smoothing > 0 && c < classes; c += lane.count) {
      all -= p[c];
    }
    all = lane.sum(all);
    if (lane.index > 0) return;
    parts[row] = 0;
    if (!is_class(labels[row], classes, fault)) return;
    parts[row] = smoothing / float(classes) * all - (1 - smoothing) * p[labels[row]];
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

/// Writes 1 for each row whose label is in the top k, otherwise 0. NaN ranks above
/// every number; a label whose own logit is NaN was not predicted.
struct TopK {
  const float* logits;
  const int64_t* labels;
  float* parts;
  Fault* fault;
  Index classes;
  int64_t k;

  LOCKSTEP_BOTH void operator()(Index row, const Lane& lane) const {
    const float* x = logits + row * classes;
    const int64_t label = labels[row];
    const bool known = label >= 0 && label < int64_t(classes);
    float larger = 0;
    for (Index c = lane.index; known && c < classes; c += lane.count) {
      const bool nan = x[c] != x[c];
      larger += x[c] > x[label] || nan || (x[c] == x[label] && int64_t(c) < label);
    }
    larger = lane.sum(larger);
    if (lane.index > 0) return;
    parts[row] =
        is_class(label, classes, fault) && larger < float(k) && x[label] == x[label];
  }
};

/// A column sum (see normalization.h) with one column: the total over rows.
struct Total {
  using Sum = float;
  const float* parts;
  float* out;
  float factor, divisor;

  struct Column {};
  LOCKSTEP_BOTH Column column(Index) const { return {}; }
  LOCKSTEP_BOTH float load(Index row) const { return parts[row]; }
  LOCKSTEP_BOTH void add(Sum& sum, Column, float part, Index) const { sum += part; }
  LOCKSTEP_BOTH void join(Sum& sum, const Sum& other) const { sum += other; }
  LOCKSTEP_BOTH void finish(Index, const Sum& sum) const {
    *out = factor * sum / divisor;
  }
};

/// A bias gradient: each channel's sum over rows. A column sum of N channels.
template <class T, int N>
struct SumRows {
  struct alignas(N > 1 ? 16 : 4) Sum {
    float of[N];
  };
  const T* x;
  float* out;

  struct Column {};
  LOCKSTEP_BOTH Column column(Index) const { return {}; }
  LOCKSTEP_BOTH Pack<T, N> load(Index i) const { return packs<N>(x)[i]; }
  LOCKSTEP_BOTH void add(Sum& sum, Column, const Pack<T, N>& in, Index) const {
    for (int j = 0; j < N; ++j) sum.of[j] += float(in.at[j]);
  }
  LOCKSTEP_BOTH void join(Sum& sum, const Sum& other) const {
    for (int j = 0; j < N; ++j) sum.of[j] += other.of[j];
  }
  LOCKSTEP_BOTH void finish(Index c, const Sum& sum) const {
    for (int j = 0; j < N; ++j) out[c * N + j] = sum.of[j];
  }
};

}  // namespace lockstep::cuda
