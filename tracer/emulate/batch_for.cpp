#include "tracer/emulate/batch_for.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <stdexcept>

#include "base/units.h"
#include "tracer/emulate/construct/recorded_step.h"
#include "tracer/emulate/sweep.h"

namespace lockstep::tracer {
namespace {

/// Computes points of a program whose batch varies.
class Search {
 public:
  Search(const Trace& trace, ConstructedProgram program, const EmulateOptions& options)
      : trace_(trace), program_(std::move(program)), options_(options) {
    found.devices = program_.devices;
    found.batch_alone = recorded_step(trace).batch;
  }

  /// Computes the point with `each` images on each device. Returns whether it reaches
  /// the goal.
  bool reaches(int64_t each) {
    program_.batch = each * found.devices;
    const SweepAxis devices{"devices", {static_cast<double>(found.devices)}};
    const SweepPoint swept = sweep(trace_, {devices}, program_, options_).at(0);
    found.step_alone = swept.alone;
    const auto images = static_cast<double>(swept.batch);
    const double alone = static_cast<double>(found.batch_alone) / swept.alone;
    found.points.push_back({swept.batch, swept.step, images / swept.step / alone});
    return found.points.back().gain >= found.goal;
  }

  BatchFor found;

 private:
  const Trace& trace_;
  ConstructedProgram program_;
  const EmulateOptions& options_;
};

std::set<int64_t> batches_recorded(const Trace& trace,
                                   const std::vector<const Trace*>& further) {
  std::set<int64_t> batches{recorded_step(trace).batch};
  for (const Trace* other : further) batches.insert(recorded_step(*other).batch);
  return batches;
}

std::string on_each(const BatchPoint& point, int devices) {
  return fmt::format("{} ({} on each of {} devices)", point.batch,
                     point.batch / devices, devices);
}

/// Returns what was found, as a sentence or two.
std::string batch_verdict(const BatchFor& found) {
  const BatchPoint* answer = found.answer();
  if (answer == nullptr) {
    const auto best =
        std::max_element(found.points.begin(), found.points.end(),
                         [](const auto& a, const auto& b) { return a.gain < b.gain; });
    return fmt::format(
        "{:g}x is not reached. Of the recorded batches, {} gives most: {:.2f}x.\n"
        "Nothing is extrapolated. fix: record a step of one device with a larger -b, "
        "and name its trace, too",
        found.goal, on_each(*best, found.devices), best->gain);
  }
  std::string text =
      fmt::format("{:g}x is reached with a batch of {}: {:.2f}x.", found.goal,
                  on_each(*answer, found.devices), answer->gain);
  if (answer == &found.points.front()) {
    return text + " No smaller batch was recorded.";
  }
  const BatchPoint& before = *(answer - 1);
  return text +
         fmt::format(" {} gives {:.2f}x.", on_each(before, found.devices), before.gain);
}

/// Returns what a larger batch costs, which no emulator says.
std::string price(const BatchFor& found) {
  const BatchPoint* answer = found.answer();
  if (answer == nullptr || answer->batch <= found.batch_alone) return "";
  return fmt::format(
      "An epoch then has 1/{:.3g} of the optimizer steps that it has with a batch of "
      "{}.\nWhat that does to the accuracy is not emulated.\n",
      static_cast<double>(answer->batch) / found.batch_alone, found.batch_alone);
}

}  // namespace

const BatchPoint* BatchFor::answer() const {
  for (const BatchPoint& point : points) {
    if (point.gain >= goal) return &point;
  }
  return nullptr;
}

double parse_gain(std::string_view text) {
  std::string_view number = text;
  if (number.ends_with('x')) number.remove_suffix(1);
  double gain = 0;
  const auto [end, error] =
      std::from_chars(number.data(), number.data() + number.size(), gain);
  const bool parsed = error == std::errc() && end == number.data() + number.size();
  if (!parsed || !std::isfinite(gain) || gain <= 0) {
    throw std::invalid_argument(
        fmt::format("--batch-for {}: not a number above 0; fix: pass how many times "
                    "the images/s of one device, such as 1.9x",
                    text));
  }
  return gain;
}

BatchFor batch_for(const Trace& trace, double goal, const ConstructedProgram& program,
                   const EmulateOptions& options) {
  Search search(trace, program, options);
  search.found.goal = goal;
  int64_t below = 0, reached = 0;  // images on each device
  for (const int64_t each : batches_recorded(trace, program.further)) {
    if (search.reaches(each)) {
      if (reached == 0) reached = each;
    } else if (reached == 0) {
      below = each;
    }
  }
  while (below > 0 && reached - below > 1) {
    const int64_t middle = below + (reached - below) / 2;
    (search.reaches(middle) ? reached : below) = middle;
  }
  std::sort(search.found.points.begin(), search.found.points.end(),
            [](const auto& a, const auto& b) { return a.batch < b.batch; });
  return search.found;
}

std::string batch_for_text(const BatchFor& found) {
  std::string text = fmt::format(
      "{}\n{}\n{:>10}{:>10}{:>12}{:>12}{:>11}\n{:>10}{:>10}{:>12}{:>12.1f}{:>11}\n",
      batch_verdict(found), price(found), "batch", "on each", "one step", "images/s",
      "gain", found.batch_alone, "alone", human_time(found.step_alone),
      static_cast<double>(found.batch_alone) / seconds(found.step_alone), "1.00x");
  for (const BatchPoint& point : found.points) {
    text += fmt::format("{:>10}{:>10}{:>12}{:>12.1f}{:>11}\n", point.batch,
                        point.batch / found.devices, human_time(point.step),
                        static_cast<double>(point.batch) / seconds(point.step),
                        fmt::format("{:.2f}x", point.gain));
  }
  return text;
}

Json batch_for_json(const BatchFor& found) {
  Json json = {{"goal", found.goal},
               {"devices", found.devices},
               {"one_device_batch", found.batch_alone},
               {"one_device_step_us", static_cast<double>(found.step_alone) / 1e3},
               {"batch", nullptr},
               {"points", Json::array()}};
  if (const BatchPoint* answer = found.answer()) json["batch"] = answer->batch;
  for (const BatchPoint& point : found.points) {
    json["points"].push_back({{"batch", point.batch},
                              {"step_us", static_cast<double>(point.step) / 1e3},
                              {"gain", point.gain}});
  }
  return json;
}

}  // namespace lockstep::tracer
