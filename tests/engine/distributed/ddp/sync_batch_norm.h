// Helpers for tests of SyncBatchNorm: a layer that runs on one device or on several.
#pragma once

#include "engine/distributed/ddp/sync_batch_norm.h"
#include "tests/engine/distributed/nets.h"

namespace lockstep::test {

/// The results of batch norm's forward and backward passes for one rank's rows.
struct Normalized {
  Tensor y, dx, dgamma, dbeta, running_mean, running_var;
};

/// One layer's input; C is the number of channels of `x`.
struct NormCase {
  Tensor x;   ///< N×C×H×W on the host
  Tensor dy;  ///< the gradient of y, of the same shape
  DType dtype = DType::f64;
  bool in_blocks = false;  ///< input passes through a layout-changing convolution
  bool relu = false;

  static NormCase random(const Shape& sizes, DType dtype = DType::f64) {
    return {signed_tensor("x", sizes, 2, DType::f32, 0.5),
            signed_tensor("grad", sizes, 1, DType::f32), dtype};
  }

  /// Normalizes rows `first` to `first + count` − 1 on `device`. With a group, uses the
  /// statistics of all ranks.
  Normalized run(Device device, int64_t first, int64_t count,
                 const GroupPtr& group = nullptr) const {
    const int64_t channels = x.size(1);
    const auto make = [&](const char* name, double size, double shift) {
      return on(device, signed_tensor(name, {channels}, size, dtype, shift));
    };
    const auto part = [&](const Tensor& all) {
      const Tensor rows = all.narrowed(first, count);
      return Tensor::from(values_of(rows), rows.sizes(), dtype);
    };
    const Tensor mine = leaf(device, part(x));
    Tensor gamma = make("gamma", 0.2, 1).set_requires_grad(true);
    Tensor beta = make("beta", 0.1, 0).set_requires_grad(true);
    const Tensor mean = make("mean", 0.1, 0), var = make("var", 0.25, 1.25);
    const Tensor tracked = on(device, Tensor::scalar(0, DType::i64));
    const ops::BatchNormState state{gamma, beta, mean, var, tracked};
    Tensor input = mine;
    if (in_blocks) {
      std::vector<double> one(channels * channels);
      for (int64_t i = 0; i < channels; ++i) one[i * channels + i] = 1;
      input = ops::conv2d(
          mine, on(device, Tensor::from(one, {channels, channels, 1, 1}, dtype)), {});
    }
    Tensor y = group ? distributed::sync_batch_norm(input, state, group, "bn")
                     : ops::batch_norm(input, state, true);
    if (relu) ops::relu_(y);
    autograd::backward(y, on(device, part(dy)));
    EXPECT_EQ(ops::item(tracked), 1);
    return {y, mine.grad(), gamma.grad(), beta.grad(), mean, var};
  }
};

/// Normalizes consecutive blocks of rows; rank r has `counts[r]` of them.
inline std::vector<Normalized> normalized_by_ranks(const NormCase& layer,
                                                   const std::vector<int64_t>& counts,
                                                   DeviceType type) {
  std::vector<Normalized> results(counts.size());
  World world{static_cast<int>(counts.size())};
  world.type = type;
  on_ranks(world, [&](Rank& rank) {
    int64_t first = 0;
    for (int r = 0; r < rank.rank; ++r) first += counts[r];
    results[rank.rank] = layer.run(rank.device, first, counts[rank.rank], rank.group);
  });
  return results;
}

/// Concatenates the ranks' rows, or returns their sum.
inline Tensor joined(const std::vector<Normalized>& ranks, Tensor Normalized::* what) {
  std::vector<double> all;
  for (const Normalized& rank : ranks) {
    const std::vector<double> rows = values_of(rank.*what);
    all.insert(all.end(), rows.begin(), rows.end());
  }
  return vector(all);
}
inline Tensor summed(const std::vector<Normalized>& ranks, Tensor Normalized::* what) {
  std::vector<double> sum = values_of(ranks[0].*what);
  for (size_t r = 1; r < ranks.size(); ++r) {
    const std::vector<double> more = values_of(ranks[r].*what);
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += more[i];
  }
  return vector(sum);
}

/// Ranks that share their statistics give the result of one device on all rows.
inline void expect_as_one(const std::vector<Normalized>& ranks, const Normalized& one,
                          double tolerance) {
  EXPECT_LE(relative_l2(joined(ranks, &Normalized::y), one.y), tolerance);
  EXPECT_LE(relative_l2(joined(ranks, &Normalized::dx), one.dx), tolerance);
  EXPECT_LE(relative_l2(summed(ranks, &Normalized::dgamma), one.dgamma), tolerance);
  EXPECT_LE(relative_l2(summed(ranks, &Normalized::dbeta), one.dbeta), tolerance);
  for (const Normalized& rank : ranks) {
    EXPECT_LE(relative_l2(rank.running_mean, one.running_mean), tolerance);
    EXPECT_LE(relative_l2(rank.running_var, one.running_var), tolerance);
  }
}

}  // namespace lockstep::test
