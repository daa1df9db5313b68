#include "experiments/imagenet.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "base/units.h"
#include "experiments/scaling.h"
#include "tracer/format/keys.h"

namespace lockstep::experiments {
namespace {

using tracer::Json;
using Number = std::optional<double>;

std::string cell(const Number& number, const char* format) {
  return number ? fmt::format(fmt::runtime(format), *number) : "–";
}

Json json(const Number& number) { return number ? Json(*number) : Json(); }

/// Returns the mean, over the counted iterations, of the times that `which` selects.
Number mean(const ImageNetResult& result, double Iterations::* which) {
  const Iterations counted = result.log.counted(result.short_last);
  if (counted.count < 1 || !std::isfinite(counted.*which)) return std::nullopt;
  return std::max(0.0, counted.*which) / static_cast<double>(counted.count);
}

Number seed_seconds(const ImageNetResult& result) {
  return result.run.seed_seconds > 0 ? Number(result.run.seed_seconds) : Number();
}

/// Returns the throughput relative to the first run, from `seconds` per iteration.
Number speedup(const ImageNetRun& run, const Number& seconds, const ImageNetRun& first,
               const Number& first_seconds) {
  const bool known = seconds && first_seconds && run.batch > 0 && first.batch > 0;
  if (!known || *seconds <= 0) return std::nullopt;
  return *first_seconds / static_cast<double>(first.batch) *
         static_cast<double>(run.batch) / *seconds;
}

}  // namespace

StepShares step_shares(const tracer::StepGroup& group) {
  StepShares shares;
  const auto length = static_cast<double>(group.mean_length());
  if (length <= 0) return shares;
  for (const ScalingPart& part : scaling_parts(group)) {
    const double share = static_cast<double>(part.nanoseconds) / length;
    if (part.name == tracer::phases::forward) shares.forward = share;
    if (part.name == tracer::phases::backward) shares.backward = share;
  }
  return shares;
}

std::string share_cell(const std::optional<double>& share) {
  return share ? percent(*share) : "–";
}

std::vector<ImageNetFigures> figures(const std::vector<ImageNetResult>& results) {
  std::vector<ImageNetFigures> all;
  const ImageNetResult& first = results.at(0);
  const Number single = mean(first, &Iterations::seconds);
  for (const ImageNetResult& result : results) {
    const ImageNetRun& run = result.run;
    ImageNetFigures f;
    f.seconds = mean(result, &Iterations::seconds);
    f.data_seconds = mean(result, &Iterations::data_seconds);
    if (const auto spread = result.log.spread(result.short_last)) {
      std::tie(f.least, f.most) = *spread;
    }
    if (f.seconds && *f.seconds > 0 && run.batch > 0) {
      f.images_per_second = static_cast<double>(run.batch) / *f.seconds;
    }
    f.speedup = speedup(run, f.seconds, first.run, single);
    f.emulated_speedup = speedup(run, result.emulated, first.run, first.emulated);
    f.seed_speedup = speedup(run, seed_seconds(result), first.run, seed_seconds(first));
    f.acc1 = result.log.epochs.back().test_acc1;
    f.acc5 = result.log.epochs.back().test_acc5;
    all.push_back(f);
  }
  return all;
}

Rows imagenet_rows(const std::vector<ImageNetResult>& results) {
  Rows rows{{"log", "how", "batch", "s/iteration", "least", "most", "of which data",
             "forward", "backward", "images/s", "speed-up", "Acc@1", "Acc@5",
             "emulated s", "speed-up", "seed's s", "speed-up"}};
  const auto all = figures(results);
  for (size_t i = 0; i < results.size(); ++i) {
    const ImageNetFigures& f = all[i];
    rows.push_back(
        {results[i].run.name, results[i].run.how, fmt::to_string(results[i].run.batch),
         cell(f.seconds, "{:.3f}"), cell(f.least, "{:.3f}"), cell(f.most, "{:.3f}"),
         cell(f.data_seconds, "{:.3f}"), share_cell(results[i].measured.forward),
         share_cell(results[i].measured.backward), cell(f.images_per_second, "{:.1f}"),
         cell(f.speedup, "{:.3f}x"), cell(f.acc1, "{:.2f}"), cell(f.acc5, "{:.2f}"),
         cell(results[i].emulated, "{:.3f}"), cell(f.emulated_speedup, "{:.3f}x"),
         cell(seed_seconds(results[i]), "{:.3f}"), cell(f.seed_speedup, "{:.3f}x")});
  }
  return rows;
}

Json imagenet_json(const std::vector<ImageNetResult>& results,
                   const std::vector<std::string>& notes) {
  Json runs = Json::array();
  const auto all = figures(results);
  for (size_t i = 0; i < results.size(); ++i) {
    const ImageNetFigures& f = all[i];
    runs.push_back(
        {{"log", results[i].run.name + ".log"},
         {"how", results[i].run.how},
         {"command", results[i].log.command},
         {"batch", results[i].run.batch},
         {"iterations", results[i].log.iterations()},
         {"counted_iterations", results[i].log.counted(results[i].short_last).count},
         {"seconds_per_iteration", json(f.seconds)},
         {"shortest_iteration", json(f.least)},
         {"longest_iteration", json(f.most)},
         {"data_seconds_per_iteration", json(f.data_seconds)},
         {"forward_share", json(results[i].measured.forward)},
         {"backward_share", json(results[i].measured.backward)},
         {"images_per_second", json(f.images_per_second)},
         {"speedup", json(f.speedup)},
         {"acc1", json(f.acc1)},
         {"acc5", json(f.acc5)},
         {"emulated_seconds_per_iteration", json(results[i].emulated)},
         {"emulated_speedup", json(f.emulated_speedup)},
         {"seed_seconds_per_iteration", json(seed_seconds(results[i]))},
         {"seed_speedup", json(f.seed_speedup)}});
  }
  return {{"experiment", "imagenet-table"}, {"notes", notes}, {"runs", runs}};
}

Plot imagenet_plot(const std::vector<ImageNetResult>& results,
                   const std::string& title) {
  const auto all = figures(results);
  const auto number = [](const Number& n) { return cell(n, "{:.4f}"); };
  std::string rows;
  bool seed = false, emulated = false;
  for (size_t i = 0; i < results.size(); ++i) {
    const ImageNetFigures& f = all[i];
    const std::string name = results[i].run.name;
    rows += fmt::format("\"{}\" {} {} {} {}\n", name.substr(name.find('_') + 1),
                        number(f.images_per_second), number(f.speedup),
                        number(f.emulated_speedup), number(f.seed_speedup));
    seed = seed || f.seed_speedup;
    emulated = emulated || f.emulated_speedup;
  }
  Plot plot{"imagenet.gp", 1200, 420, title, ""};
  plot.data = variable("columns",
                       fmt::format("3{}{}", emulated ? " 4" : "", seed ? " 5" : "")) +
              data_block("runs", rows);
  return plot;
}

}  // namespace lockstep::experiments
