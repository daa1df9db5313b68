// The generated sparse problem: exactly the stated sparsity, and labels that follow the
// logistic model.
#include "engine/data/sparse.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <stdexcept>

namespace lockstep::data {
namespace {

struct SparseSample {
  std::vector<float> vector;
  int64_t label;
};

SparseSample sparse_sample(const SparseLogistic& set, int64_t index) {
  SparseSample sample{std::vector<float>(static_cast<size_t>(set.sample_shape()[0]), 7),
                      0};
  Draws draws(0, 0, index);
  sample.label = set.get(index, draws, sample.vector);
  return sample;
}

TEST(SparseLogistic, HasExactlySoManyElementsOfOneLength) {
  for (const int64_t nonzeros : {1, 8, 40}) {
    const SparseLogistic set({40, nonzeros}, 100, 3);
    EXPECT_EQ(set.size(), 100);
    for (int64_t i = 0; i < set.size(); ++i) {
      int64_t count = 0;
      double square = 0;
      for (const float value : sparse_sample(set, i).vector) {
        count += value != 0;
        square += double(value) * value;
      }
      EXPECT_EQ(count, nonzeros);
      EXPECT_NEAR(square, 8, 1e-5);
    }
  }
}

/// Each of 40 coordinates is drawn 1000 times on average: within 5 deviations.
TEST(SparseLogistic, DrawsCoordinatesUniformly) {
  const SparseLogistic set({40, 8}, 5000, 3);
  std::vector<int> drawn(40, 0);
  for (int64_t i = 0; i < set.size(); ++i) {
    const SparseSample sample = sparse_sample(set, i);
    for (size_t j = 0; j < 40; ++j) drawn[j] += sample.vector[j] != 0;
  }
  for (const int count : drawn) {
    EXPECT_NEAR(count, 1000, 5 * std::sqrt(5000 * 0.2 * 0.8));
  }
}

TEST(SparseLogistic, DependsOnSeedAndIndexOnly) {
  const SparseLogistic all({40, 8}, 100, 3), test({40, 8}, 20, 3, 80);
  const SparseLogistic other({40, 8}, 100, 4);
  std::set<std::vector<float>> different;
  for (int64_t i = 0; i < 20; ++i) {
    const SparseSample sample = sparse_sample(test, i);
    EXPECT_EQ(sample.vector, sparse_sample(all, 80 + i).vector);
    EXPECT_EQ(sample.label, sparse_sample(all, 80 + i).label);
    EXPECT_NE(sample.vector, sparse_sample(other, 80 + i).vector);
    different.insert(sample.vector);
  }
  EXPECT_EQ(different.size(), 20);
}

/// With one element per sample, the frequency of class 1 given (coordinate, sign) is
/// 1 / (1 + exp(∓√8 w)): the two signs of a coordinate add up to 1.
TEST(SparseLogistic, LabelsAreLogistic) {
  const SparseLogistic set({4, 1}, 20000, 3);
  double ones[4][2] = {}, all[4][2] = {};
  for (int64_t i = 0; i < set.size(); ++i) {
    const SparseSample sample = sparse_sample(set, i);
    for (size_t j = 0; j < 4; ++j) {
      if (sample.vector[j] == 0) continue;
      const int positive = sample.vector[j] > 0;
      ones[j][positive] += double(sample.label);
      ++all[j][positive];
    }
  }
  const Philox philox{3};
  for (size_t j = 0; j < 4; ++j) {
    const double w = philox.normal(j, fnv1a64("sparse/weights"));
    for (const int positive : {0, 1}) {
      const double logit = (positive ? 1 : -1) * std::sqrt(8.0) * w;
      EXPECT_NEAR(ones[j][positive] / all[j][positive], 1 / (1 + std::exp(-logit)),
                  0.05);
    }
  }
}

TEST(SparseLogistic, RefusesImpossibleShapes) {
  EXPECT_THROW(SparseLogistic({4, 5}, 1, 0), std::runtime_error);
  EXPECT_THROW(SparseLogistic({4, 0}, 1, 0), std::runtime_error);
}

}  // namespace
}  // namespace lockstep::data
