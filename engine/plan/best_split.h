// Where to cut a model into the stages of a pipeline, if the time of each of its parts
// is known.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lockstep::plan {

/// The parts of a model, which run one after the other.
struct PartCosts {
  std::vector<int64_t> times;  ///< of each part, at least 0, in any unit
  std::vector<int64_t>
      bytes;  ///< what each part passes to the next; the last is unused
};

struct Split {
  std::vector<size_t> cuts;  ///< the first part of each stage but the first, ascending
  int64_t slowest = 0;       ///< the time of the slowest stage
  int64_t bytes = 0;         ///< the sum over the cuts
  bool operator==(const Split&) const = default;
};

/// Returns the times of the stages that `cuts` make.
std::vector<int64_t> stage_times(const PartCosts& costs,
                                 const std::vector<size_t>& cuts);

/// Returns the division into `stages` stages, of at least one part each, whose slowest
/// stage takes the least time. Among those it has the fewest bytes at its cuts, and
/// among these the earliest cuts, the first one first. Exact; takes O(stages · parts²)
/// steps. Throws std::invalid_argument if there are fewer parts than stages, `stages`
/// is less than 1, or the lists of costs differ in length. Minimising the slowest stage
/// is the objective of PipeDream's optimizer without replicas (Narayanan et al. 2019,
/// section 3.1).
Split best_split(const PartCosts& costs, int stages);

}  // namespace lockstep::plan
