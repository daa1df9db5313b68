#include "tracer/format/clocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "tracer/format/message_times.h"
#include "tracer/format/tighten.h"
#include "tracer/format/times.h"

namespace lockstep::tracer {
namespace {

/// Quartz drifts by less than 100 ppm, and NTP adds at most 500: two comparisons that
/// differ by more are inexact, rather than the clocks that different.
constexpr double kMaxDrift = 600e-6;

/// One comparison of a clock with the reference.
struct Compared {
  int64_t at = 0, offset = 0, round_trip = 0;
};

/// The ranks that read one clock, by index into the traces.
struct Machine {
  std::string id;
  std::vector<size_t> traces;
  std::vector<Compared> comparisons;
  bool reference = false;
};

const Json& clock_of(const Trace& trace) {
  return object_arg(trace.lockstep, top::rank_clock);
}

std::vector<Compared> comparisons_of(const Trace& trace) {
  std::vector<Compared> all;
  const Json& clock = clock_of(trace);
  const auto offsets = clock.find("offsets");
  if (offsets == clock.end() || !offsets->is_array()) return all;
  for (const Json& entry : *offsets) {
    if (!entry.is_object()) continue;
    const Compared one{int_arg(entry, "at_ns"), int_arg(entry, "offset_ns"),
                       int_arg(entry, "round_trip_ns")};
    const bool later = all.empty() || one.at > all.back().at;
    if (later && one.round_trip >= 0) all.push_back(one);
  }
  return all;
}

int64_t longest_trip(const std::vector<Compared>& all) {
  int64_t longest = 0;
  for (const Compared& one : all) longest = std::max(longest, one.round_trip);
  return longest;
}

/// Every rank of a machine compared the same clock: the most exact one counts for all,
/// so that what happened on one machine keeps its order.
bool is_better(const std::vector<Compared>& a, const std::vector<Compared>& b) {
  if (a.size() != b.size()) return a.size() > b.size();
  return longest_trip(a) < longest_trip(b);
}

std::vector<Machine> machines_of(const std::vector<Trace>& ranks) {
  std::vector<Machine> machines;
  for (size_t i = 0; i < ranks.size(); ++i) {
    const std::string id = string_arg(clock_of(ranks[i]), "boot_id");
    const auto same = [&](const Machine& machine) { return machine.id == id; };
    auto found = std::find_if(machines.begin(), machines.end(), same);
    if (found == machines.end()) {
      machines.push_back({id, {}, {}, false});
      found = machines.end() - 1;
    }
    found->traces.push_back(i);
    auto comparisons = comparisons_of(ranks[i]);
    if (is_better(comparisons, found->comparisons)) {
      found->comparisons = std::move(comparisons);
    }
  }
  for (Machine& machine : machines) {
    const Json& clock = clock_of(ranks[machine.traces[0]]);
    machine.reference = machine.comparisons.empty() && clock.contains("offsets");
  }
  if (machines[0].comparisons.empty()) machines[0].reference = true;
  return machines;
}

/// Joins the comparisons by lines no steeper than clocks drift, from the most exact one
/// outwards.
ClockMap line_through(const std::vector<Compared>& all) {
  if (all.empty()) return {};
  const auto shorter = [](const Compared& a, const Compared& b) {
    return a.round_trip < b.round_trip;
  };
  const size_t best = std::min_element(all.begin(), all.end(), shorter) - all.begin();
  std::vector<ClockMap::Point> points(all.size());
  const auto reach = [&](size_t from, size_t to) {
    const auto limit = static_cast<int64_t>(
        kMaxDrift * std::abs(static_cast<double>(all[to].at - all[from].at)));
    const int64_t change = all[to].offset - points[from].offset;
    points[to] = {all[to].at, points[from].offset + std::clamp(change, -limit, limit)};
  };
  points[best] = {all[best].at, all[best].offset};
  for (size_t i = best; i > 0; --i) reach(i, i - 1);
  for (size_t i = best; i + 1 < all.size(); ++i) reach(i, i + 1);
  return ClockMap(std::move(points));
}

ClockMap first_guess(const Machine& machine, const std::vector<Trace>& ranks) {
  if (machine.reference) return {};
  if (!machine.comparisons.empty()) return line_through(machine.comparisons);
  const int64_t first = int_arg(clock_of(ranks[0]), "origin_ns");
  const int64_t mine = int_arg(clock_of(ranks[machine.traces[0]]), "origin_ns");
  return ClockMap({{mine, first - mine}});
}

MachineClock describe(const Machine& machine, const std::vector<Trace>& ranks,
                      const ClockMap& guess) {
  MachineClock clock;
  for (const size_t i : machine.traces) {
    clock.ranks.push_back(
        int_arg(object_arg(ranks[i].other, top::distributed), top::rank, kNone));
  }
  clock.reference = machine.reference;
  clock.compared = !machine.comparisons.empty();
  const auto& points = guess.points();
  clock.offset_ns =
      guess.offset_at(int_arg(clock_of(ranks[machine.traces[0]]), "origin_ns"));
  if (points.size() > 1) {
    clock.drift_ppm =
        static_cast<double>(points.back().offset - points.front().offset) * 1e6 /
        static_cast<double>(points.back().at - points.front().at);
  }
  clock.round_trip_ns = longest_trip(machine.comparisons);
  return clock;
}

/// Returns the map that first applies `a`, then `b`, whose points are on `a`'s result.
ClockMap composed(const ClockMap& a, const ClockMap& b) {
  if (b.points().empty()) return a;
  std::set<int64_t> times;
  for (const auto& point : a.points()) times.insert(point.at);
  for (const auto& point : b.points()) {
    // Invert a: its offset changes so slowly that three rounds reach the nanosecond.
    int64_t at = point.at - a.offset_at(point.at);
    for (int round = 0; round < 3; ++round) at = point.at - a.offset_at(at);
    times.insert(at);
  }
  std::vector<ClockMap::Point> points;
  for (const int64_t at : times) points.push_back({at, b(a(at)) - at});
  return ClockMap(std::move(points));
}

}  // namespace

std::vector<ClockMap> align_clocks(const std::vector<Trace>& ranks,
                                   ClockReport& report) {
  const std::vector<Machine> machines = machines_of(ranks);
  std::vector<ClockMap> guesses;
  std::vector<size_t> machine_of(ranks.size());
  for (size_t m = 0; m < machines.size(); ++m) {
    guesses.push_back(first_guess(machines[m], ranks));
    report.machines.push_back(describe(machines[m], ranks, guesses[m]));
    for (const size_t i : machines[m].traces) machine_of[i] = m;
  }
  if (machines.size() > 1) {
    const auto origin = [&](size_t i) {
      return int_arg(clock_of(ranks[i]), "origin_ns");
    };
    const MessageTimes times =
        message_times(ranks, machine_of, [&](size_t i, int64_t ts) {
          return guesses[machine_of[i]](add_within_range(origin(i), ts));
        });
    const Tightened tightened = tighten(times, machines.size());
    report.messages = times.messages;
    report.contradicted = tightened.contradicted;
    report.left = tightened.left;
    report.residual_ns = tightened.residual_ns;
    for (size_t m = 0; m < machines.size(); ++m) {
      guesses[m] = composed(guesses[m], tightened.corrections[m]);
      for (const auto& point : tightened.corrections[m].points()) {
        int64_t& moved = report.machines[m].moved_ns;
        moved = std::max(moved, std::abs(point.offset));
      }
    }
  }
  std::vector<ClockMap> maps;
  for (size_t i = 0; i < ranks.size(); ++i) maps.push_back(guesses[machine_of[i]]);
  return maps;
}

namespace {

std::string milliseconds(int64_t ns) {
  return fmt::format("{:.3f} ms", static_cast<double>(ns) / 1e6);
}

}  // namespace

std::string ClockReport::text() const {
  if (machines.size() < 2) return "";
  int64_t trip = 0, moved = 0, compared = 0;
  for (const MachineClock& machine : machines) {
    trip = std::max(trip, machine.round_trip_ns);
    moved = std::max(moved, machine.moved_ns);
    compared += machine.compared || machine.reference ? 1 : 0;
  }
  std::string line = fmt::format("clocks of {} machines: ", machines.size());
  if (compared == static_cast<int64_t>(machines.size())) {
    line += fmt::format("compared to within {}", milliseconds(trip / 2));
  } else {
    line += "not compared (the files lack `rank_clock.offsets`)";
  }
  if (messages == 0) {
    return line + "; no messages that both ends recorded, which could check this";
  }
  line += fmt::format("; {} of {} messages contradicted this", contradicted, messages);
  if (contradicted > 0) line += fmt::format(", moved by up to {}", milliseconds(moved));
  return line + fmt::format("; residual {}{}", milliseconds(residual_ns),
                            left == 0 ? "" : fmt::format(" in {} messages", left));
}

Json ClockReport::json() const {
  Json list = Json::array();
  for (const MachineClock& machine : machines) {
    list.push_back({{"ranks", machine.ranks},
                    {"reference", machine.reference},
                    {"compared", machine.compared},
                    {"offset_ns", machine.offset_ns},
                    {"drift_ppm", std::round(machine.drift_ppm * 1e3) / 1e3},
                    {"round_trip_ns", machine.round_trip_ns},
                    {"moved_ns", machine.moved_ns}});
  }
  return {{"machines", list},
          {"messages", messages},
          {"contradicted", contradicted},
          {"left", left},
          {"residual_ns", residual_ns}};
}

}  // namespace lockstep::tracer
