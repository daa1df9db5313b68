#include "engine/plan/best_split.h"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>

namespace lockstep::plan {
namespace {

constexpr int64_t kImpossible = std::numeric_limits<int64_t>::max();

/// A value for each number of stages and each part that they begin at.
using Table = std::vector<std::vector<int64_t>>;

class SplitSearch {
 public:
  SplitSearch(const PartCosts& costs, size_t stages)
      : costs_(costs), stages_(stages), parts_(costs.times.size()), before_{0} {
    for (const int64_t time : costs.times) before_.push_back(before_.back() + time);
  }

  Split run() const {
    const int64_t slowest = least_slowest();
    const Table bytes = fewest_bytes(slowest);
    Split split{{}, slowest, bytes[stages_][0]};
    size_t first = 0;
    for (size_t left = stages_; left > 1; --left) {
      first = earliest_cut(bytes, left, first, slowest);
      split.cuts.push_back(first);
    }
    return split;
  }

 private:
  int64_t time(size_t first, size_t end) const { return before_[end] - before_[first]; }
  Table empty_table() const {
    return Table(stages_ + 1, std::vector<int64_t>(parts_, kImpossible));
  }

  /// Returns the time of the slowest stage in the best division of all parts.
  int64_t least_slowest() const {
    Table slowest = empty_table();
    for (size_t first = 0; first < parts_; ++first) {
      slowest[1][first] = time(first, parts_);
    }
    for (size_t count = 2; count <= stages_; ++count) {
      for (size_t first = 0; first + count <= parts_; ++first) {
        int64_t& least = slowest[count][first];
        for (size_t cut = first + 1; cut + count - 1 <= parts_; ++cut) {
          least = std::min(least, std::max(time(first, cut), slowest[count - 1][cut]));
        }
      }
    }
    return slowest[stages_][0];
  }

  /// Returns the fewest bytes at the cuts of `count` stages that begin at a part, if
  /// none may take longer than `most`.
  Table fewest_bytes(int64_t most) const {
    Table bytes = empty_table();
    for (size_t first = 0; first < parts_; ++first) {
      if (time(first, parts_) <= most) bytes[1][first] = 0;
    }
    for (size_t count = 2; count <= stages_; ++count) {
      for (size_t first = 0; first + count <= parts_; ++first) {
        for (size_t cut = first + 1; cut < parts_ && time(first, cut) <= most; ++cut) {
          bytes[count][first] = std::min(bytes[count][first], cost(bytes, count, cut));
        }
      }
    }
    return bytes;
  }

  /// Returns the bytes if the first of `count` stages ends before `cut`.
  int64_t cost(const Table& bytes, size_t count, size_t cut) const {
    const int64_t rest = bytes[count - 1][cut];
    return rest == kImpossible ? kImpossible : rest + costs_.bytes[cut - 1];
  }

  size_t earliest_cut(const Table& bytes, size_t count, size_t first,
                      int64_t most) const {
    size_t cut = first + 1;
    while (time(first, cut) > most || cost(bytes, count, cut) != bytes[count][first]) {
      ++cut;
    }
    return cut;
  }

  const PartCosts& costs_;
  const size_t stages_, parts_;
  std::vector<int64_t> before_;  ///< the times of all parts before each
};

}  // namespace

std::vector<int64_t> stage_times(const PartCosts& costs,
                                 const std::vector<size_t>& cuts) {
  std::vector<int64_t> times(1, 0);
  for (size_t part = 0, next = 0; part < costs.times.size(); ++part) {
    if (next < cuts.size() && part == cuts[next]) {
      times.push_back(0);
      ++next;
    }
    times.back() += costs.times[part];
  }
  return times;
}

Split best_split(const PartCosts& costs, int stages) {
  const size_t parts = costs.times.size();
  if (costs.bytes.size() != parts) {
    throw std::invalid_argument("times and bytes are of different numbers of parts");
  }
  if (stages < 1 || static_cast<size_t>(stages) > parts) {
    throw std::invalid_argument(std::to_string(parts) + " parts cannot make " +
                                std::to_string(stages) + " stages");
  }
  return SplitSearch(costs, static_cast<size_t>(stages)).run();
}

}  // namespace lockstep::plan
