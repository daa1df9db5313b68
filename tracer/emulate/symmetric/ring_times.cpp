#include "tracer/emulate/symmetric/ring_times.h"

#include <algorithm>
#include <utility>

namespace lockstep::tracer {
namespace {

/// After N - 1 steps, a message waits for every rank; until then, for some of them. If
/// all messages take equally long, only the last rank to join matters.
std::vector<int64_t> uniform_ends(std::span<const int64_t> joined, int64_t message) {
  const auto ranks = static_cast<int64_t>(joined.size());
  const int64_t last = *std::max_element(joined.begin(), joined.end());
  return std::vector<int64_t>(joined.size(), last + 2 * (ranks - 1) * message);
}

}  // namespace

std::vector<int64_t> ring_ends(std::span<const int64_t> joined,
                               std::span<const int64_t> chunks) {
  const size_t n = joined.size();
  if (n < 2) return {joined.begin(), joined.end()};
  const auto [least, most] = std::minmax_element(chunks.begin(), chunks.end());
  if (*least == *most) return uniform_ends(joined, *most);
  // Rank r receives chunk r - 2 - step (modulo N) in each step. Each row has a copy of
  // its last element in front, so that the left neighbour of rank 0 is rank N - 1.
  std::vector<int64_t> twice(chunks.begin(), chunks.end());
  twice.insert(twice.end(), chunks.begin(), chunks.end());
  std::vector<int64_t> before(n + 1), now(n + 1);
  for (size_t r = 0; r < n; ++r) before[r + 1] = joined[r];
  before[0] = joined[n - 1];
  for (size_t step = 0; step < 2 * (n - 1); ++step) {
    const int64_t* took = twice.data() + (2 * n - 2 - step % n) % n;
    const int64_t* left = before.data();
    const int64_t* own = before.data() + 1;
    int64_t* arrives = now.data() + 1;
    for (size_t r = 0; r < n; ++r) arrives[r] = std::max(left[r], own[r]) + took[r];
    now[0] = now[n];
    std::swap(before, now);
  }
  std::vector<int64_t> ends(n);
  for (size_t r = 0; r < n; ++r) {
    ends[r] = std::max(before[r + 1], before[r + 1 == n ? 1 : r + 2]);
  }
  return ends;
}

}  // namespace lockstep::tracer
