#include "engine/plan/bucket_cuts.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace lockstep::plan {

double end_of_buckets(const std::vector<TimedGradient>& gradients,
                      const std::vector<size_t>& sizes, const AllReduceCost& cost) {
  double end = 0;
  size_t next = 0;
  for (const size_t size : sizes) {
    int64_t bytes = 0;
    double ready = 0;
    for (size_t i = 0; i < size; ++i, ++next) {
      bytes += gradients[next].bytes;
      ready = std::max(ready, gradients[next].ready);
    }
    end = std::max(ready, end) + cost.of(bytes);
  }
  return end;
}

std::vector<size_t> best_buckets(const std::vector<TimedGradient>& gradients,
                                 const AllReduceCost& cost) {
  struct Best {
    double end = std::numeric_limits<double>::infinity();
    size_t buckets = 0, last = 0;  ///< `last`: gradients in the last bucket
  };
  std::vector<Best> best(gradients.size() + 1);  // of the first i gradients
  best[0] = {0, 0, 0};
  for (size_t i = 1; i <= gradients.size(); ++i) {
    int64_t bytes = 0;
    double ready = 0;
    for (size_t last = 1; last <= i; ++last) {
      bytes += gradients[i - last].bytes;
      ready = std::max(ready, gradients[i - last].ready);
      const Best& before = best[i - last];
      const Best now{std::max(ready, before.end) + cost.of(bytes), before.buckets + 1,
                     last};
      if (std::pair(now.end, now.buckets) < std::pair(best[i].end, best[i].buckets)) {
        best[i] = now;
      }
    }
  }
  std::vector<size_t> sizes;
  for (size_t i = gradients.size(); i > 0; i -= best[i].last) {
    sizes.push_back(best[i].last);
  }
  std::reverse(sizes.begin(), sizes.end());
  return sizes;
}

}  // namespace lockstep::plan
