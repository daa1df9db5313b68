// The time that several events cover together and, from it, the cost of each phase of a
// step: the numbers that `trace summary` and the viewer show.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lockstep::tracer {

class Spans {
 public:
  void add(int64_t from, int64_t to) {
    if (from < to) spans_.emplace_back(from, to);
  }

  /// Returns the time covered; overlaps count once.
  int64_t covered() const {
    std::vector<std::pair<int64_t, int64_t>> spans = spans_;
    std::sort(spans.begin(), spans.end());
    int64_t total = 0, until = INT64_MIN;
    for (const auto& [from, to] : spans) {
      if (to <= until) continue;
      total += to - std::max(from, until);
      until = to;
    }
    return total;
  }

  /// Returns spans that cover the same time, sorted and without overlaps.
  std::vector<std::pair<int64_t, int64_t>> merged() const {
    std::vector<std::pair<int64_t, int64_t>> spans = spans_, merged;
    std::sort(spans.begin(), spans.end());
    for (const auto& [from, to] : spans) {
      if (merged.empty() || merged.back().second < from) {
        merged.emplace_back(from, to);
      } else {
        merged.back().second = std::max(merged.back().second, to);
      }
    }
    return merged;
  }

  /// Returns the time from the first start to the last end.
  int64_t extent() const {
    if (spans_.empty()) return 0;
    int64_t first = spans_[0].first, last = spans_[0].second;
    for (const auto& [from, to] : spans_) {
      first = std::min(first, from), last = std::max(last, to);
    }
    return last - first;
  }

 private:
  std::vector<std::pair<int64_t, int64_t>> spans_;
};

/// Cost of a phase in one step. Phases may overlap, so costs are not additive.
struct PhaseCost {
  int64_t host = 0;    ///< ns spent by host threads in it (overlaps count once)
  int64_t device = 0;  ///< ns from its first kernel or copy to the end of its last
  std::map<int64_t, int64_t> busy;  ///< device → ns in which it ran part of the phase
  bool on_device() const { return !busy.empty(); }
  /// Returns the value to show: `device` if there is device work, otherwise `host`.
  int64_t cost() const { return on_device() ? device : host; }
};

struct NamedPhase {
  std::string name;
  PhaseCost cost;
};

/// Measures the phases of one step.
class PhaseMeter {
 public:
  /// Records that a host thread was in the phase.
  void add_host(std::string_view phase, int64_t from, int64_t to);
  /// Records that `device` ran a task of the phase.
  void add_task(std::string_view phase, int64_t device, int64_t from, int64_t to);

  /// Returns the phases in the order in which they began.
  std::vector<NamedPhase> costs();

 private:
  struct PhaseSpans {
    std::string name;
    int64_t first = INT64_MAX;
    Spans host, device;
    std::map<int64_t, Spans> busy;
  };
  PhaseSpans& begun(std::string_view phase, int64_t from);

  std::vector<PhaseSpans> phases_;
};

/// Returns the mean cost of each phase over all steps, in order of first appearance.
std::vector<NamedPhase> mean_phases(
    const std::vector<const std::vector<NamedPhase>*>& steps);

}  // namespace lockstep::tracer
