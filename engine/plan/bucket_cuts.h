// The best buckets for DistributedDataParallel, if it is known when each gradient is
// ready: where to cut the sequence of gradients so that the last all-reduce ends first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lockstep::plan {

/// A gradient, in the order in which they become ready.
struct TimedGradient {
  int64_t bytes = 0;
  double ready = 0;  ///< in any unit of time
};

/// The time of an all-reduce: `start_up` + bytes · `per_byte`. For a ring of N ranks
/// and links of α and B, start_up = 2 (N − 1) α and per_byte = 2 (N − 1) / (N B).
struct AllReduceCost {
  double start_up = 0, per_byte = 0;
  double of(int64_t bytes) const {
    return start_up + per_byte * static_cast<double>(bytes);
  }
};

/// Returns when the last of the buckets is summed: each starts when its last gradient
/// is ready and the bucket before it is summed. `sizes` are the buckets' numbers of
/// gradients. REQUIRES: they add up to the number of gradients.
double end_of_buckets(const std::vector<TimedGradient>& gradients,
                      const std::vector<size_t>& sizes, const AllReduceCost& cost);

/// Returns the numbers of gradients in each bucket for which end_of_buckets() is least;
/// of several such cuts, one with the fewest buckets. Exact: a later end of the buckets
/// before never lets a bucket end earlier, so the best cuts of all gradients contain
/// best cuts of the first ones (a dynamic programme, quadratic in their number).
std::vector<size_t> best_buckets(const std::vector<TimedGradient>& gradients,
                                 const AllReduceCost& cost);

}  // namespace lockstep::plan
