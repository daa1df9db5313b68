// log_softmax(x)_c = x_c − log Σ_j exp x_j  (shifted by the maximum to avoid
// overflow);  dx = dy − softmax(x) Σ dy.  nll = −log p[label];
// with label smoothing ε: (1 − ε) · nll + ε · the mean of −log p over all classes.
#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "engine/backends/reference/reference_backend.h"

namespace lockstep::reference {
namespace {

template <typename T>
void log_softmax(const KernelArgs& args) {
  const View &x = args.in[0], &y = args.out[0];
  const int64_t C = x.sizes[1];
  for (int64_t n = 0; n < x.sizes[0]; ++n) {
    const T* in = x.as<T>() + n * C;
    const T largest = *std::max_element(in, in + C);
    T sum = 0;
    for (int64_t c = 0; c < C; ++c) sum += std::exp(in[c] - largest);
    const T log_sum = largest + std::log(sum);
    for (int64_t c = 0; c < C; ++c) y.as<T>()[n * C + c] = in[c] - log_sum;
  }
}

template <typename T>
void log_softmax_backward(const KernelArgs& args) {
  const View &dy = args.in[0], &y = args.in[1], &dx = args.out[0];
  const int64_t C = y.sizes[1];
  for (int64_t n = 0; n < y.sizes[0]; ++n) {
    T sum = 0;
    for (int64_t c = 0; c < C; ++c) sum += dy.as<T>()[n * C + c];
    for (int64_t i = n * C; i < (n + 1) * C; ++i) {
      dx.as<T>()[i] = dy.as<T>()[i] - std::exp(y.as<T>()[i]) * sum;
    }
  }
}

int64_t label_at(const View& labels, int64_t n, int64_t classes) {
  const int64_t label = labels.as<int64_t>()[n];
  if (label < 0 || label >= classes) {
    throw std::runtime_error("Target " + std::to_string(label) + " is out of bounds.");
  }
  return label;
}

template <typename T>
void nll_loss(const KernelArgs& args, bool mean, double smoothing) {
  const View &log_p = args.in[0], &labels = args.in[1];
  const int64_t N = log_p.sizes[0], C = log_p.sizes[1];
  T sum = 0, of_all = 0;
  for (int64_t n = 0; n < N; ++n) {
    const T* row = log_p.as<T>() + n * C;
    sum -= row[label_at(labels, n, C)];
    for (int64_t c = 0; smoothing > 0 && c < C; ++c) of_all -= row[c];
  }
  if (smoothing > 0) {
    const T keep = static_cast<T>(1 - smoothing);
    sum = keep * sum + static_cast<T>(smoothing) / static_cast<T>(C) * of_all;
  }
  *args.out[0].as<T>() = mean ? sum / static_cast<T>(N) : sum;
}

template <typename T>
void nll_loss_backward(const KernelArgs& args, bool mean, double smoothing) {
  const View &labels = args.in[1], &dx = args.out[0];
  const int64_t N = dx.sizes[0], C = dx.sizes[1];
  const T share = *args.in[0].as<T>() / (mean ? static_cast<T>(N) : T(1));
  const T keep = static_cast<T>(1 - smoothing);
  const T of_each =
      smoothing > 0 ? -share * static_cast<T>(smoothing) / static_cast<T>(C) : T(0);
  std::fill_n(dx.as<T>(), N * C, of_each);
  for (int64_t n = 0; n < N; ++n) {
    dx.as<T>()[n * C + label_at(labels, n, C)] -= share * keep;
  }
}

template <typename T>
void correct_in_top_k(const KernelArgs& args, int64_t k) {
  const View &logits = args.in[0], &labels = args.in[1];
  const int64_t N = logits.sizes[0], C = logits.sizes[1];
  int64_t correct = 0;
  for (int64_t n = 0; n < N; ++n) {
    const T* row = logits.as<T>() + n * C;
    const int64_t label = label_at(labels, n, C);
    // Logits ranked above the label's. NaN ranks above every number, as in
    // torch.topk; a label whose own logit is NaN was not predicted.
    int64_t larger = 0;
    for (int64_t c = 0; c < C; ++c) {
      larger += row[c] > row[label] || std::isnan(row[c]) ||
                (row[c] == row[label] && c < label);
    }
    correct += larger < k && !std::isnan(row[label]);
  }
  *args.out[0].as<T>() = static_cast<T>(100.0 * correct / N);
}

}  // namespace

template <typename T>
Kernel loss(const PlanRequest& request) {
  const bool mean = request.attributes.mean;
  const double smoothing = request.attributes.eps;
  const int64_t k = request.attributes.k;
  switch (request.code) {
    case OpCode::log_softmax:
      return log_softmax<T>;
    case OpCode::log_softmax_backward:
      return log_softmax_backward<T>;
    case OpCode::nll_loss:
      return [=](const KernelArgs& args) { nll_loss<T>(args, mean, smoothing); };
    case OpCode::nll_loss_backward:
      return
          [=](const KernelArgs& args) { nll_loss_backward<T>(args, mean, smoothing); };
    default:
      return [k](const KernelArgs& args) { correct_in_top_k<T>(args, k); };
  }
}

template Kernel loss<float>(const PlanRequest&);
template Kernel loss<double>(const PlanRequest&);

}  // namespace lockstep::reference
