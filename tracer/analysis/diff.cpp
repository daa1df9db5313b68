#include "tracer/analysis/diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_set>
#include <utility>

#include "base/units.h"
#include "tracer/analysis/summary.h"
#include "tracer/format/args.h"

namespace lockstep::tracer {

namespace {

using Unit = DiffRow::Unit;

/// Fills one side of the rows and adds rows that are missing on the other side.
class Side {
 public:
  Side(TraceDiff& diff, double DiffRow::* side) : diff_(diff), side_(side) {}

  void put(const char* section, const std::string& name, Unit unit, double value) {
    row(section, name, unit).*side_ += value;
  }

 private:
  DiffRow& row(const char* section, const std::string& name, Unit unit) {
    for (DiffRow& row : diff_.rows) {
      if (row.section == section && row.name == name) return row;
    }
    return diff_.rows.emplace_back(DiffRow{section, name, unit});
  }

  TraceDiff& diff_;
  double DiffRow::* side_;
};

void put_times(const StepGroup& train, Side& side) {
  side.put("time", "step", Unit::time, static_cast<double>(train.mean_length()));
  for (const PathShare& share : train.mean_path()) {
    side.put("longest path", share.what, Unit::time,
             static_cast<double>(share.nanoseconds));
  }
  for (const auto& [name, cost] : train.mean_phases()) {
    side.put("phases", name, Unit::time, static_cast<double>(cost.cost()));
  }
}

void put_trace(const Summary& summary, const Trace& trace, bool timed, Side side) {
  const StepGroup& train = summary.train;
  if (train.steps.empty()) return;
  const auto steps = static_cast<double>(train.steps.size());
  if (timed) put_times(train, side);
  for (const auto& [why, bytes] : train.bytes_by_why) {
    side.put("bytes by reason", why, Unit::bytes, static_cast<double>(bytes) / steps);
  }
  std::unordered_set<int64_t> numbers;
  for (const StepSummary& step : train.steps) numbers.insert(step.step);
  std::vector<std::pair<Name, double>> counts;  // in order of first appearance
  for (const Event& event : trace.events) {
    if (event.ph != 'X' || !numbers.contains(event.step)) continue;
    const auto known = std::find_if(counts.begin(), counts.end(), [&](const auto& c) {
      return c.first == event.cat;
    });
    if (known == counts.end())
      counts.emplace_back(event.cat, 1 / steps);
    else
      known->second += 1 / steps;
  }
  for (const auto& [cat, count] : counts) {
    side.put("events", cat, Unit::count, count);
  }
  for (const auto& [device, peak] : summary.memory) {
    side.put("peak memory", device == kHost ? "host" : fmt::format("device {}", device),
             Unit::bytes, static_cast<double>(peak.total));
  }
}

std::string human(Unit unit, double value) {
  if (unit == Unit::count) return fmt::format("{:.6g}", std::round(value * 100) / 100);
  const auto whole = static_cast<int64_t>(std::min(value, 9e18));
  return unit == Unit::time ? human_time(whole) : human_bytes(whole);
}

std::string change(const DiffRow& row) {
  if (row.a == row.b) return "=";
  if (row.a == 0) return "new";
  if (row.b == 0) return "gone";
  return fmt::format("{:.2f}x", row.b / row.a);
}

}  // namespace

TraceDiff diff_traces(const Trace& a, const Trace& b) {
  TraceDiff diff;
  const Summary of_a = summarize(a), of_b = summarize(b);
  diff.clock_a = of_a.timed() ? of_a.clock : "none";
  diff.clock_b = of_b.timed() ? of_b.clock : "none";
  const bool timed = of_a.timed() && of_b.timed();
  put_trace(of_a, a, timed, Side(diff, &DiffRow::a));
  put_trace(of_b, b, timed, Side(diff, &DiffRow::b));
  std::vector<std::string> sections;  // in order of first appearance
  for (const DiffRow& row : diff.rows) {
    if (std::find(sections.begin(), sections.end(), row.section) == sections.end()) {
      sections.push_back(row.section);
    }
  }
  const auto rank = [&](const DiffRow& row) {
    return std::find(sections.begin(), sections.end(), row.section);
  };
  std::stable_sort(diff.rows.begin(), diff.rows.end(),
                   [&](const auto& x, const auto& y) { return rank(x) < rank(y); });
  return diff;
}

std::string diff_text(const TraceDiff& diff, const std::string& name_a,
                      const std::string& name_b) {
  const auto clock = [](const std::string& own) {
    return own == "none" ? "null: no times" : own + " clock";
  };
  std::string text = fmt::format("A = {} ({})\nB = {} ({})\n", name_a,
                                 clock(diff.clock_a), name_b, clock(diff.clock_b));
  if (diff.clock_a == "none" || diff.clock_b == "none") {
    text += "Null devices compute nothing: there are no times to compare.\n";
  } else if (diff.clock_a != diff.clock_b) {
    text += "The clocks differ: compare bytes and counts, not times.\n";
  }
  std::string section;
  for (const DiffRow& row : diff.rows) {
    if (row.section != section) {
      section = row.section;
      text += fmt::format("\n{:<26}{:>12}{:>12}{:>9}\n", section, "A", "B", "B / A");
    }
    text += fmt::format("  {:<24}{:>12}{:>12}{:>9}\n", row.name, human(row.unit, row.a),
                        human(row.unit, row.b), change(row));
  }
  if (diff.rows.empty()) text += "Neither trace contains a complete training step.\n";
  return text;
}

Json diff_json(const TraceDiff& diff) {
  static const char* const units[] = {"seconds", "bytes", "count"};
  Json json = {
      {"clock_a", diff.clock_a}, {"clock_b", diff.clock_b}, {"rows", Json::array()}};
  for (const DiffRow& row : diff.rows) {
    const double scale = row.unit == Unit::time ? 1e-9 : 1;
    json["rows"].push_back({{"section", row.section},
                            {"name", row.name},
                            {"unit", units[static_cast<int>(row.unit)]},
                            {"a", row.a * scale},
                            {"b", row.b * scale}});
  }
  return json;
}

}  // namespace lockstep::tracer
