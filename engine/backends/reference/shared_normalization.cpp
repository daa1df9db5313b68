// Synchronised batch normalisation in stages, for a batch split across several devices,
// which exchange values between the stages. Per channel c:
//
//   stats            of rank r's part:  mean_r = Σx / n_r
//                                       var_r = Σ(x − mean_r)² / n_r
//   gather_stats     n = Σ n_r; mean and var of the combined parts
//   update           running statistics from these (the variance unbiased)
//   backward_reduce  of one part:  Σdy,  Σdy (x − mean),  dγ = Σdy x̂,  dβ = Σdy
//   backward_elemt   dx = γ / σ · (dy − Σdy / n − (x − mean) / σ² · Σdy (x − mean) / n)
//
// with σ = √(var + eps), and the sums in dx taken over all parts.
// Source: aten/src/ATen/native/cuda/Normalization.cuh (batch_norm_stats, …).
#include <cmath>

#include "engine/backends/reference/reference_backend.h"

namespace lockstep::reference {
namespace {

template <typename T>
void stats(const KernelArgs& args) {
  const View& x = args.in[0];
  const T* in = x.as<T>();
  const T count = static_cast<T>(x.numel() / x.sizes[1]);
  for (int64_t c = 0; c < x.sizes[1]; ++c) {
    T sum = 0, squares = 0;
    for_channel(x.sizes, c, [&](int64_t i) { sum += in[i]; });
    const T mean = sum / count;
    for_channel(x.sizes, c,
                [&](int64_t i) { squares += (in[i] - mean) * (in[i] - mean); });
    args.out[0].as<T>()[c] = mean;
    args.out[1].as<T>()[c] = squares / count;
  }
  *args.out[2].as<T>() = count;
}

/// Rank r's row of `all` holds its means, variances and count. Two parts combine to
///   mean = mean_a + δ n_b / n,  M2 = M2_a + M2_b + δ² n_a n_b / n,
///   δ = mean_b − mean_a
/// where M2 = n var. No squares of means are subtracted from each other, which avoids
/// cancellation. Source: Chan, Golub & LeVeque, Updating Formulae, 1979.
template <typename T>
void gather_stats(const KernelArgs& args) {
  const View& all = args.in[0];
  const int64_t channels = args.out[0].numel(), row = 2 * channels + 1;
  double count = 0;
  for (int64_t c = 0; c < channels; ++c) {
    double mean = 0, squares = 0;
    count = 0;
    for (const T* r = all.as<T>(); r < all.as<T>() + all.numel(); r += row) {
      const double part = r[2 * channels], together = count + part;
      const double delta = r[c] - mean;
      mean += delta * part / together;
      squares += r[channels + c] * part + delta * delta * count * part / together;
      count = together;
    }
    args.out[0].as<T>()[c] = static_cast<T>(mean);
    args.out[1].as<T>()[c] = static_cast<T>(squares / count);
  }
  *args.out[2].as<T>() = static_cast<T>(count);
}

template <typename T>
void update(const KernelArgs& args, double momentum) {
  const T *mean = args.in[0].as<T>(), *var = args.in[1].as<T>();
  const T n = *args.in[2].as<T>(), m = static_cast<T>(momentum);
  T *running_mean = args.out[0].as<T>(), *running_var = args.out[1].as<T>();
  for (int64_t c = 0; c < args.in[0].numel(); ++c) {
    running_mean[c] = (1 - m) * running_mean[c] + m * mean[c];
    running_var[c] = (1 - m) * running_var[c] + m * var[c] * n / (n - 1);
  }
  ++*args.out[2].as<int64_t>();
}

template <typename T>
void backward_reduce(const KernelArgs& args, double eps) {
  const View &x = args.in[0], &dy = args.in[1];
  for (int64_t c = 0; c < x.sizes[1]; ++c) {
    const T mean = args.in[2].as<T>()[c];
    const T inv_std = 1 / std::sqrt(args.in[3].as<T>()[c] + T(eps));
    T sum = 0, products = 0;
    for_channel(x.sizes, c, [&](int64_t i) {
      sum += dy.as<T>()[i];
      products += dy.as<T>()[i] * (x.as<T>()[i] - mean);
    });
    args.out[0].as<T>()[c] = sum;
    args.out[1].as<T>()[c] = products;
    args.out[2].as<T>()[c] = products * inv_std;
    args.out[3].as<T>()[c] = sum;
  }
}

template <typename T>
void backward_elemt(const KernelArgs& args, double eps) {
  const View &x = args.in[0], &dy = args.in[1], &dx = args.out[0];
  const T n = *args.in[7].as<T>();
  for (int64_t c = 0; c < x.sizes[1]; ++c) {
    const T mean = args.in[3].as<T>()[c], var = args.in[4].as<T>()[c];
    const T of_mean = args.in[5].as<T>()[c] / n;
    const T of_var = args.in[6].as<T>()[c] / n / (var + T(eps));
    const T scale = args.in[2].as<T>()[c] / std::sqrt(var + T(eps));
    for_channel(x.sizes, c, [&](int64_t i) {
      dx.as<T>()[i] =
          scale * (dy.as<T>()[i] - of_mean - (x.as<T>()[i] - mean) * of_var);
    });
  }
}

}  // namespace

template <typename T>
Kernel shared_normalization(const PlanRequest& request) {
  const double eps = request.attributes.eps, momentum = request.attributes.momentum;
  switch (request.code) {
    case OpCode::batch_norm_stats:
      return stats<T>;
    case OpCode::batch_norm_gather_stats:
      return gather_stats<T>;
    case OpCode::batch_norm_update:
      return [=](const KernelArgs& args) { update<T>(args, momentum); };
    case OpCode::batch_norm_backward_reduce:
      return [=](const KernelArgs& args) { backward_reduce<T>(args, eps); };
    default:
      return [=](const KernelArgs& args) { backward_elemt<T>(args, eps); };
  }
}

template Kernel shared_normalization<float>(const PlanRequest&);
template Kernel shared_normalization<double>(const PlanRequest&);

}  // namespace lockstep::reference
