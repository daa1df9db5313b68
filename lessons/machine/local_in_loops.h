// Lesson 23's training in plain loops, to compare with.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/optim/sgd.h"
#include "lessons/machine/local_by_hand.h"

namespace lockstep::lessons {

/// A rank's SGD with momentum and weight decay.
struct RankInLoops {
  std::vector<double> weights, buffer;
  bool begun = false;
  void step(const std::vector<double>& gradient, const optim::SgdOptions& sgd) {
    buffer.resize(weights.size());
    for (size_t k = 0; k < weights.size(); ++k) {
      const double d = gradient[k] + sgd.weight_decay * weights[k];
      buffer[k] = begun ? sgd.momentum * buffer[k] + d : d;
      weights[k] -= sgd.lr * buffer[k];
    }
    begun = true;
  }
};

inline std::vector<double> mean_of(const std::vector<std::vector<double>>& of) {
  std::vector<double> mean(of[0].size(), 0);
  for (const auto& one : of) {
    for (size_t k = 0; k < mean.size(); ++k) mean[k] += one[k] / double(of.size());
  }
  return mean;
}

/// Gradient of a rank in a step, as if its loss had a minimum of its own: it depends on
/// the weights.
inline std::vector<double> gradient_of(const std::vector<double>& weights, int rank) {
  std::vector<double> gradient(weights.size());
  for (size_t k = 0; k < gradient.size(); ++k) {
    gradient[k] = (1 + 0.5 * rank) * (weights[k] - double(rank) * double(k % 7));
  }
  return gradient;
}

/// Trains in plain loops. Returns each rank's weights after each step.
inline std::vector<std::vector<std::vector<double>>> plain_training(
    int count, int steps, int64_t period, const optim::SgdOptions& sgd, bool ddp) {
  std::vector<RankInLoops> ranks(count);
  for (RankInLoops& rank : ranks) rank.weights = RankByHand::initial(1, 0);
  std::vector<std::vector<std::vector<double>>> after;
  for (int step = 0; step < steps; ++step) {
    std::vector<std::vector<double>> gradients, weights;
    for (int r = 0; r < count; ++r) {
      gradients.push_back(gradient_of(ranks[r].weights, r));
    }
    for (int r = 0; r < count; ++r) {
      ranks[r].step(ddp ? mean_of(gradients) : gradients[r], sgd);
      weights.push_back(ranks[r].weights);
    }
    if (!ddp && step % period == 0) {
      for (RankInLoops& rank : ranks) rank.weights = mean_of(weights);
    }
    after.emplace_back();
    for (const RankInLoops& rank : ranks) after.back().push_back(rank.weights);
  }
  return after;
}

}  // namespace lockstep::lessons
