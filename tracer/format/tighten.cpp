#include "tracer/format/tighten.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace lockstep::tracer {
namespace {

constexpr int kMostWindows = 64;
/// Corrections are rounded to nanoseconds: this much is kept, where there is room.
constexpr int64_t kRounding = 2;

/// (a, b) → the most by which a's correction may exceed b's.
using Allowed = std::map<std::pair<size_t, size_t>, int64_t>;

/// Returns corrections that respect `allowed`, none of them positive and each as small
/// as possible; nullopt if there are none.
std::optional<std::vector<int64_t>> solve(const Allowed& allowed, size_t machines) {
  std::vector<int64_t> correction(machines, 0);
  for (size_t round = 0; round <= machines; ++round) {
    bool changed = false;
    for (const auto& [pair, most] : allowed) {
      const int64_t limit = correction[pair.second] + most;
      if (correction[pair.first] <= limit) continue;
      correction[pair.first] = limit;
      changed = true;
    }
    if (!changed) return correction;
  }
  return std::nullopt;
}

struct Contradicted {
  int64_t contradicted = 0, most_ns = 0;
};

Contradicted contradicted_by(const MessageTimes& times,
                             const std::vector<ClockMap>& maps) {
  Contradicted count;
  int64_t last = -1;
  for (const Happened& pair : times.all) {
    const int64_t excess =
        maps[pair.before](pair.first) - maps[pair.after](pair.second);
    if (excess <= 0) continue;
    if (std::exchange(last, pair.message) != pair.message) ++count.contradicted;
    count.most_ns = std::max(count.most_ns, excess);
  }
  return count;
}

/// The time that the messages span, cut into windows of equal length. A correction
/// between two points is their weighted mean: it respects what both of them respect, so
/// each point must respect the messages of the windows on both of its sides.
struct Windows {
  int64_t begin = 0, length = 1;
  int count = 1;

  Windows(const MessageTimes& times, int windows) : count(windows) {
    begin = INT64_MAX;
    int64_t end = INT64_MIN;
    for (const Happened& pair : times.all) {
      begin = std::min({begin, pair.first, pair.second});
      end = std::max({end, pair.first, pair.second});
    }
    length = (end - begin) / windows + 1;
  }
  int64_t point(int i) const { return begin + i * length; }
  int of(int64_t time) const { return static_cast<int>((time - begin) / length); }
};

std::optional<std::vector<ClockMap>> correct(const MessageTimes& times, size_t machines,
                                             int windows, int64_t rounding) {
  const Windows cut(times, windows);
  std::vector<Allowed> at_point(windows + 1);
  for (const Happened& pair : times.all) {
    const int first = cut.of(std::min(pair.first, pair.second));
    const int last = cut.of(std::max(pair.first, pair.second)) + 1;
    const int64_t room = pair.second - pair.first;
    for (int i = first; i <= last; ++i) {
      const auto [known, is_new] =
          at_point[i].try_emplace({pair.before, pair.after}, room - rounding);
      if (!is_new) known->second = std::min(known->second, room - rounding);
    }
  }
  std::vector<std::vector<ClockMap::Point>> points(machines);
  for (int i = 0; i <= windows; ++i) {
    const auto solved = solve(at_point[i], machines);
    if (!solved) return std::nullopt;
    for (size_t m = 0; m < machines; ++m) {
      points[m].push_back({cut.point(i), (*solved)[m]});
    }
  }
  std::vector<ClockMap> maps;
  for (auto& of_machine : points) {
    maps.emplace_back(std::move(of_machine));
    if (!maps.back().is_monotonic()) return std::nullopt;
  }
  return maps;
}

}  // namespace

Tightened tighten(const MessageTimes& times, size_t machines) {
  Tightened result;
  result.corrections.resize(machines);
  const Contradicted before = contradicted_by(times, result.corrections);
  result.contradicted = result.left = before.contradicted;
  result.residual_ns = before.most_ns;
  for (int windows = 1; result.left > 0 && windows <= kMostWindows; windows *= 2) {
    for (const int64_t rounding : {kRounding, int64_t{0}}) {
      auto maps = correct(times, machines, windows, rounding);
      if (!maps) continue;
      const Contradicted after = contradicted_by(times, *maps);
      if (after.contradicted >= result.left) continue;
      result.corrections = std::move(*maps);
      result.left = after.contradicted;
      result.residual_ns = after.most_ns;
    }
  }
  return result;
}

}  // namespace lockstep::tracer
