#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "experiments/imagenet.h"
#include "experiments/scaling.h"
#include "tracer/format/keys.h"

namespace lockstep::experiments {
namespace {

using tracer::Json;
using tracer::Summary;

constexpr char kUnknown[] = "unknown", kNothing[] = "–", kOther[] = "other";

/// A row of the table, and the shares of the longest path that belong to it. A row
/// without shares is the sum of the inner rows below it.
struct PartOfStep {
  const char* name;
  bool inner;
  std::vector<std::string> shares;
};

const std::vector<PartOfStep>& parts_of_step() {
  using namespace tracer;
  static const std::vector<PartOfStep> parts{
      {"forward", false, {}},
      {"scatter, h2d", true, {phases::scatter, phases::h2d}},
      {"replicate, broadcast", true, {phases::replicate, "broadcast"}},
      {"computing", true, {phases::parallel_apply, phases::forward}},
      {"gather", true, {phases::gather}},
      {"loss", false, {phases::loss}},
      {"backward", false, {phases::backward, "grad_scatter"}},
      {"reduce, all_reduce",
       false,
       {phases::reduce, phases::all_reduce, "bucket copies"}},
      {"optimizer", false, {phases::optimizer}},
      {"host", false, {"host", phases::data}},
      {"waiting for a core", false, {"waiting for a core"}},
      {"waiting for ranks", false, {"waiting for ranks"}},
  };
  return parts;
}

/// Returns the parts of a step; none if its times are meaningless.
std::vector<ScalingPart> known_parts(const Summary& summary) {
  if (summary.null_devices) return {};
  return scaling_parts(summary.train);
}

/// Returns the names of the rows, in the order of scaling_parts(); `inner` is prefixed
/// to those of inner rows.
std::vector<std::string> names_of_parts(const char* inner) {
  std::vector<std::string> names;
  for (const PartOfStep& part : parts_of_step()) {
    names.push_back(part.inner ? inner + std::string(part.name) : part.name);
  }
  names.emplace_back(kOther);
  return names;
}

/// Returns the longest step of a clock: it determines the decimals of all.
int64_t longest_step(const std::vector<ScalingResult>& results, size_t clock) {
  int64_t longest = 0;
  for (const ScalingResult& result : results) {
    longest = std::max(longest, result.clocks.at(clock).train.mean_length());
  }
  return longest;
}

/// Returns the cells of a column. The rounded parts add up to the rounded step.
std::vector<std::string> cells_of(const Summary& summary,
                                  const tracer::RoundedTimes& rounded) {
  const auto parts = known_parts(summary);
  if (parts.empty()) return {};
  std::vector<int64_t> added;
  for (size_t i = 1; i < parts.size(); ++i) added.push_back(parts[i].nanoseconds);
  const auto units = rounded.units(added);
  int64_t forward = 0;
  std::vector<std::string> cells;
  for (size_t i = 0; i < units.size(); ++i) {
    if (parts[i + 1].inner) forward += units[i];
    cells.push_back(rounded.text(units[i]));
  }
  cells.insert(cells.begin(), rounded.text(forward));
  return cells;
}

Rows rows_of_parts(const std::vector<ScalingResult>& results, size_t clock) {
  const tracer::RoundedTimes rounded(longest_step(results, clock));
  Rows rows;
  for (const std::string& name : names_of_parts("· of which ")) {
    rows.push_back({results[0].clocks[clock].clock, name});
  }
  for (const ScalingResult& result : results) {
    const auto cells = cells_of(result.clocks[clock], rounded);
    for (size_t i = 0; i < rows.size(); ++i) {
      rows[i].push_back(i < cells.size() ? cells[i] : kUnknown);
    }
  }
  return rows;
}

/// Appends a row whose cells are computed from each run's summary and that of one
/// device.
template <typename Cell>
void add_row(Rows& rows, const std::vector<ScalingResult>& results, size_t clock,
             const std::string& name, Cell cell) {
  const Summary& single = results[0].clocks[clock];
  std::vector<std::string> row{single.clock, name};
  for (const ScalingResult& result : results) {
    row.push_back(cell(result.clocks[clock], single));
  }
  rows.push_back(row);
}

std::optional<double> reached(const Summary& ours, const Summary& single) {
  const auto missing = tracer::missing_time(ours, single);
  return missing ? std::optional(missing->speedup()) : std::nullopt;
}

std::optional<double> predicted(const Summary& ours, const Summary& single) {
  if (!reached(ours, single)) return std::nullopt;
  return tracer::predicted_speedup(tracer::parallel_share(single.train), ours.devices);
}

std::string cell_of(const Summary& ours, const std::optional<double>& number,
                    const char* format) {
  if (ours.devices == 1) return kNothing;
  return number ? fmt::format(fmt::runtime(format), *number) : kUnknown;
}

void add_comparison(Rows& rows, const std::vector<ScalingResult>& results,
                    size_t clock) {
  const tracer::RoundedTimes rounded(longest_step(results, clock));
  const auto one = [&](int64_t time) { return rounded.units({time})[0]; };
  add_row(rows, results, clock, "the step",
          [&](const Summary& ours, const Summary&) -> std::string {
            if (ours.null_devices) return kUnknown;
            return rounded.text(one(ours.train.mean_length()));
          });
  add_row(rows, results, clock, "missing",
          [&](const Summary& ours, const Summary& single) -> std::string {
            if (ours.devices == 1) return kNothing;
            if (!reached(ours, single)) return kUnknown;
            return rounded.text(one(ours.train.mean_length()) -
                                one(single.train.mean_length()));
          });
  add_row(rows, results, clock, "speed-up",
          [](const Summary& ours, const Summary& single) {
            return cell_of(ours, reached(ours, single), "{:.2f}x");
          });
  add_row(rows, results, clock, "predicted",
          [](const Summary& ours, const Summary& single) {
            return cell_of(ours, predicted(ours, single), "{:.2f}x");
          });
  add_row(rows, results, clock, "difference",
          [](const Summary& ours, const Summary& single) {
            const auto got = reached(ours, single), wanted = predicted(ours, single);
            if (!got) return cell_of(ours, got, "");
            const double hundredths =
                std::round(100 * *got) - std::round(100 * *wanted);
            return cell_of(ours, hundredths / 100, "{:+.2f}x");
          });
}

}  // namespace

std::vector<ScalingPart> scaling_parts(const tracer::StepGroup& group) {
  std::map<std::string, int64_t> shares;
  for (const tracer::PathShare& share : group.mean_parts()) {
    shares[share.what] += share.nanoseconds;
  }
  if (shares.empty()) return {};
  std::vector<ScalingPart> parts;
  for (const PartOfStep& part : parts_of_step()) {
    parts.push_back({part.name, part.inner, 0});
    for (const std::string& share : part.shares) {
      const auto found = shares.find(share);
      if (found == shares.end()) continue;
      parts.back().nanoseconds += found->second;
      if (part.inner) parts.front().nanoseconds += found->second;
      shares.erase(found);
    }
  }
  parts.push_back({kOther, false, 0});
  for (const auto& [what, time] : shares) parts.back().nanoseconds += time;
  return parts;
}

Rows scaling_rows(const std::vector<ScalingResult>& results) {
  Rows rows{{"clock", "ms per step"}};
  for (const ScalingResult& result : results) rows[0].push_back(result.run.heading);
  for (size_t clock = 0; clock < results.at(0).clocks.size(); ++clock) {
    Rows parts = rows_of_parts(results, clock);
    rows.insert(rows.end(), parts.begin(), parts.end());
    add_comparison(rows, results, clock);
  }
  return rows;
}

std::vector<std::string> scaling_sentences(const std::vector<ScalingResult>& results) {
  std::vector<std::string> sentences;
  for (size_t clock = 0; clock < results.at(0).clocks.size(); ++clock) {
    for (const ScalingResult& result : results) {
      const Summary& ours = result.clocks[clock];
      const std::string text = missing_sentence(ours, results[0].clocks[clock]);
      if (text.empty()) continue;
      sentences.push_back(
          fmt::format("{}, {}: {}", ours.clock, result.run.heading, text));
    }
  }
  return sentences;
}

Json scaling_json(const std::vector<ScalingResult>& results,
                  const std::vector<std::string>& notes) {
  const auto number = [](const std::optional<double>& value) {
    return value ? Json(*value) : Json();
  };
  const auto measured = [](const Summary& summary, double value) {
    return summary.null_devices ? std::nullopt : std::optional(value);
  };
  Json runs = Json::array();
  for (const ScalingResult& result : results) {
    for (size_t clock = 0; clock < result.clocks.size(); ++clock) {
      const Summary &ours = result.clocks[clock], &single = results[0].clocks[clock];
      Json parts = Json::object();
      for (const ScalingPart& part : known_parts(ours)) {
        parts[part.inner ? "forward: " + part.name : part.name] =
            static_cast<double>(part.nanoseconds) / 1e9;
      }
      runs.push_back(
          {{"log", result.run.name + ".log"},
           {"clock", ours.clock},
           {"devices", result.run.devices},
           {"batch", result.run.batch},
           {"steps", ours.train.steps.size()},
           {"seconds", number(measured(
                           ours, static_cast<double>(ours.train.mean_length()) / 1e9))},
           {"parts", parts},
           {"speedup", number(reached(ours, single))},
           {"predicted_speedup", number(predicted(ours, single))},
           {"parallel_share",
            number(measured(single, tracer::parallel_share(single.train)))}});
    }
  }
  return {{"experiment", "scaling"}, {"notes", notes}, {"runs", runs}};
}

namespace {

/// Writes a row per run: its heading, then the time of each part in ms, from bottom to
/// top; without the sum, which is the first.
std::string stacks(const std::vector<ScalingResult>& results, size_t clock) {
  std::string rows;
  for (const ScalingResult& result : results) {
    rows += "\"" + result.run.heading + "\"";
    const auto parts = known_parts(result.clocks[clock]);
    if (parts.empty()) {  // not known: nothing is drawn
      for (size_t i = 1; i < names_of_parts("").size(); ++i) rows += " 0";
    }
    for (size_t i = 1; i < parts.size(); ++i) {
      rows += fmt::format(
          " {:.4f}", std::max(0.0, static_cast<double>(parts[i].nanoseconds)) / 1e6);
    }
    rows += "\n";
  }
  return rows;
}

std::string speedups(const std::vector<ScalingResult>& results, size_t clock) {
  std::string rows;
  for (const ScalingResult& result : results) {
    const Summary &ours = result.clocks[clock], &single = results[0].clocks[clock];
    if (ours.devices == 1) continue;
    const auto text = [](const std::optional<double>& value) {
      return value ? fmt::format("{:.2f}", *value) : kNothing;
    };
    rows += fmt::format("\"{}\" {} {} {}\n", result.run.heading,
                        text(reached(ours, single)), text(predicted(ours, single)),
                        ours.devices);
  }
  return rows;
}

}  // namespace

Plot scaling_plot(const std::vector<ScalingResult>& results, const std::string& title) {
  std::vector<std::string> names = names_of_parts("forward: "), clocks;
  names.erase(names.begin());
  for (std::string& name : names) name = experiments::quoted(name);
  std::string steps, gains;
  Plot plot{"scaling.gp", 1200, 0, title, ""};
  for (size_t clock = 0; clock < results.at(0).clocks.size(); ++clock) {
    clocks.push_back(quoted(results[0].clocks[clock].clock));
    steps += stacks(results, clock) + "\n\n";
    gains += speedups(results, clock) + "\n\n";
  }
  plot.height = 440 * static_cast<int>(clocks.size());
  plot.data = array("part", names) + array("clock", clocks) +
              data_block("steps", steps) + data_block("speedups", gains);
  return plot;
}

}  // namespace lockstep::experiments
