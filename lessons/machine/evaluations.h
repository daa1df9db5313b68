// An evaluation by several ranks, and the ways to count it wrongly: lesson 28.
#pragma once

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "lessons/machine/checkpoint_ranks.h"

namespace lockstep::lessons::lesson_28 {

struct Counted {
  double loss = 0, correct = 0, samples = 0;
  void add(const Counted& other) {
    loss += other.loss;
    correct += other.correct;
    samples += other.samples;
  }
};

inline Counted counted(const Batch& batch, bool padding) {
  Counted all;
  for (size_t i = 0; i < batch.losses.size(); ++i) {
    if (batch.padding[i] && !padding) continue;
    all.add({batch.losses[i], static_cast<double>(batch.correct[i]), 1});
  }
  return all;
}

using Evaluation = std::vector<std::vector<Batch>>;  // by rank

/// Draws batches for each rank, as many as `sizes` says, all full but the last.
inline Evaluation drawn_evaluation(std::mt19937_64& random,
                                   const std::vector<std::vector<int>>& sizes,
                                   bool padded) {
  Evaluation all;
  for (const auto& of_rank : sizes) {
    all.emplace_back();
    for (const int size : of_rank) {
      Batch batch;
      for (int i = 0; i < size; ++i) {
        batch.losses.push_back(static_cast<double>(random() % 1000) / 250);
        batch.correct.push_back(random() % 3 != 0);
        batch.padding.push_back(padded && size != of_rank[0] && i + 1 == size);
      }
      all.back().push_back(std::move(batch));
    }
  }
  return all;
}

/// The same evaluation, right and in three wrong ways: (loss, accuracy).
struct Answers {
  std::pair<double, double> right, padded, of_ranks, of_batches;
};

inline std::pair<double, double> means(const Counted& all) {
  const double samples = std::max(all.samples, 1.0);
  return {all.loss / samples, all.correct / samples};
}

inline Answers answers(const Evaluation& evaluation) {
  Counted right, padded, of_ranks, of_batches;
  for (const auto& batches : evaluation) {
    Counted own;
    for (const Batch& batch : batches) {
      own.add(counted(batch, false));
      padded.add(counted(batch, true));
      const auto [loss, accuracy] = means(counted(batch, false));
      of_batches.add({loss, accuracy, counted(batch, false).samples > 0 ? 1.0 : 0.0});
    }
    right.add(own);
    of_ranks.add({means(own).first, means(own).second, 1});
  }
  return {means(right), means(padded), means(of_ranks), means(of_batches)};
}

inline bool nearly(double a, double b) { return std::abs(a - b) < 1e-12; }

/// Explains a wrong number; `part` is what it is of the answers.
inline std::string why_not(const Answers& all, double got,
                           double (*part)(std::pair<double, double>), bool alike) {
  if (!std::isfinite(got)) return "divided by 0: divide after the sum over all ranks";
  if (nearly(got, part(all.padded))) {
    return "padding counts here: a sample that was read twice counts twice";
  }
  if (nearly(got, part(all.of_ranks))) {
    return "the mean of the ranks' means gives a rank that has few samples as much "
           "weight "
           "as one that has many: sum, count, and divide at the end";
  }
  if (nearly(got, part(all.of_batches))) {
    return "the mean of the batches' means gives the samples of a small last batch "
           "more "
           "weight than others: sum, count, and divide at the end";
  }
  if (!alike) {
    return "the ranks have different numbers: each has only its own samples, until "
           "they "
           "are summed over all ranks";
  }
  return "two sums over all samples of all ranks without padding, divided by their "
         "number, "
         "once";
}

}  // namespace lockstep::lessons::lesson_28
