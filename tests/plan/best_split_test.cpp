// The division of parts into stages: against every division of small random problems.
#include "engine/plan/best_split.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <random>
#include <stdexcept>

namespace lockstep::plan {
namespace {

/// Tries all sets of cuts, in lexicographic order: the first of the best ones remains.
Split best_of_all(const PartCosts& costs, size_t stages) {
  const size_t parts = costs.times.size();
  std::vector<bool> chosen(parts - 1, false);  // whether a stage begins after a part
  std::fill_n(chosen.begin(), stages - 1, true);
  std::optional<Split> best;
  do {
    Split split;
    int64_t time = costs.times[0];
    for (size_t i = 0; i + 1 < parts; ++i) {
      if (chosen[i]) {
        split.cuts.push_back(i + 1);
        split.bytes += costs.bytes[i];
        split.slowest = std::max(split.slowest, time);
        time = 0;
      }
      time += costs.times[i + 1];
    }
    split.slowest = std::max(split.slowest, time);
    const auto key = [](const Split& s) { return std::pair(s.slowest, s.bytes); };
    if (!best || key(split) < key(*best)) best = split;
  } while (std::prev_permutation(chosen.begin(), chosen.end()));
  return *best;
}

TEST(BestSplit, EqualsTheBestOfAllDivisions) {
  std::mt19937 random(5);
  int with_ties = 0;
  for (int problem = 0; problem < 600; ++problem) {
    const size_t parts = 1 + random() % 9, stages = 1 + random() % parts;
    const int64_t most = problem % 2 ? 4 : 1000;  // small numbers: many ties
    PartCosts costs;
    for (size_t i = 0; i < parts; ++i) {
      costs.times.push_back(static_cast<int64_t>(random()) % most);
      costs.bytes.push_back(static_cast<int64_t>(random()) % most);
    }
    const Split expected = best_of_all(costs, stages);
    const Split split = best_split(costs, static_cast<int>(stages));
    EXPECT_EQ(split, expected) << "problem " << problem;
    const auto times = stage_times(costs, split.cuts);
    EXPECT_EQ(times.size(), stages);
    EXPECT_EQ(*std::max_element(times.begin(), times.end()), split.slowest);
    EXPECT_EQ(std::accumulate(times.begin(), times.end(), int64_t{0}),
              std::accumulate(costs.times.begin(), costs.times.end(), int64_t{0}));
    PartCosts silent = costs;  // whether the bytes decide
    std::fill(silent.bytes.begin(), silent.bytes.end(), 0);
    with_ties += best_of_all(silent, stages).cuts != expected.cuts;
  }
  EXPECT_GT(with_ties, 50);
}

TEST(BestSplit, PrefersTheSlowestStageThenTheBytes) {
  // 4 | 3 3 and 4 3 | 3: the slowest takes 6 or 7, whatever the bytes.
  EXPECT_EQ(best_split({{4, 3, 3}, {900, 1, 0}}, 2), (Split{{1}, 6, 900}));
  // The 9 is alone in any case, so the cut between the small parts is free.
  EXPECT_EQ(best_split({{9, 1, 1, 1}, {5, 8, 2, 0}}, 3), (Split{{1, 3}, 9, 7}));
  // Equal in both: the earliest cut.
  EXPECT_EQ(best_split({{0, 2, 0}, {3, 3, 0}}, 2), (Split{{1}, 2, 3}));
}

TEST(BestSplit, RefusesTooManyStages) {
  const PartCosts costs{{1, 2}, {3, 4}};
  EXPECT_THROW(best_split(costs, 3), std::invalid_argument);
  EXPECT_THROW(best_split(costs, 0), std::invalid_argument);
  EXPECT_THROW(best_split({{1, 2}, {3}}, 1), std::invalid_argument);
  EXPECT_EQ(best_split(costs, 1), (Split{{}, 3, 0}));
}

}  // namespace
}  // namespace lockstep::plan
