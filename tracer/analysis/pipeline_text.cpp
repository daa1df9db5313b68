// The pipelines of a trace as text, in 100 columns, and in machine-readable form.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/units.h"
#include "tracer/analysis/bubble.h"
#include "tracer/analysis/split.h"
#include "tracer/format/args.h"

namespace lockstep::tracer {

namespace {

constexpr size_t kMostStageRows = 16;  ///< longer lists end with "… and N more"

constexpr const char* kPipelineLegend =
    "  Each moment of each device between the first and the last pass is in one class. "
    "fill, drain\n  and order: as long as equally fast stages and free links would "
    "wait, too; uneven stages: what\n  is longer. All of these, and knock-on, are "
    "imbalance above.\n";

std::string counted(size_t count, const char* what, const char* ending = "s") {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : ending);
}

std::string bubble_percent(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

/// Sets the measured share beside what the order allows.
std::string bubble_line(const std::vector<const Pipeline*>& steps,
                        const SlotTimes& times) {
  const Pipeline& first = *steps[0];
  const bool has_parts = times[Slot::core] + times[Slot::gpu] > 0;
  std::string text = fmt::format("  The bubble is {}{}", bubble_text(times),
                                 has_parts ? "" : " of it");
  if (!first.ideal) {
    return text +
           ". Passes of other devices are missing in this file (trace merge joins "
           "the\n  files of all ranks): what the bubble would be with equal stages is "
           "unknown.\n";
  }
  const double formula =
      bubble_formula(first.devices.size(), first.stages.size(), first.micro_batches);
  text += fmt::format(";{}with equally fast stages and free links, {}",
                      has_parts ? "\n  " : " ", bubble_percent(*first.ideal));
  const bool same = std::abs(formula - *first.ideal) < 0.0005;
  const size_t per_device = first.stages.size() / first.devices.size();
  const std::string passes = per_device > 1
                                 ? fmt::format("{}·{}", per_device, first.micro_batches)
                                 : std::to_string(first.micro_batches);
  const size_t behind = first.devices.size() - 1;
  if (same) text += fmt::format(" = {} / ({} + {})", behind, passes, behind);
  return text + ".\n";
}

std::string stage_table(const std::vector<const Pipeline*>& steps) {
  const Pipeline& first = *steps[0];
  std::string text =
      fmt::format("\n  {:<7}{:>8}{:>12}{:>12}{:>16}{:>14}\n", "stage", "device",
                  "forward", "backward", "live at most", "activations");
  for (size_t i = 0; i < std::min(first.stages.size(), kMostStageRows); ++i) {
    const PipelineStage& stage = first.stages[i];
    int64_t forward = 0, backward = 0, activations = kNone;
    int live = 0;
    size_t count = 0;
    for (const Pipeline* step : steps) {
      if (i >= step->stages.size()) continue;
      forward += step->stages[i].forward, backward += step->stages[i].backward;
      live = std::max(live, step->stages[i].most_live);
      activations =
          std::max(activations, step->devices[step->stages[i].device].activations);
      ++count;
    }
    const auto n = static_cast<int64_t>(count);
    text += fmt::format("  {:<7}{:>8}{:>12}{:>12}{:>16}{:>14}\n", stage.stage,
                        first.devices[stage.device].device, human_time(forward / n),
                        human_time(backward / n), live,
                        activations == kNone ? "unknown" : human_bytes(activations));
  }
  if (first.stages.size() > kMostStageRows) {
    text += fmt::format("  … and {} more\n", first.stages.size() - kMostStageRows);
  }
  return text +
         "  forward, backward: the kernels of one pass, mean; live at most: "
         "micro-batches whose\n  activations a stage holds; activations: the largest "
         "of its device.\n";
}

Json times_json(const SlotTimes& times) {
  Json json = Json::object();
  for (size_t i = 0; i < kSlots; ++i) {
    json[words_of(static_cast<Slot>(i)).name] = times.times[i];
  }
  return json;
}

}  // namespace

double bubble_formula(size_t devices, size_t stages, int micro_batches) {
  const auto p = static_cast<double>(devices);
  const double v = static_cast<double>(stages) / p;
  return (p - 1) / (v * micro_batches + p - 1);
}

std::string bubble_text(const SlotTimes& times) {
  const double whole = static_cast<double>(std::max<int64_t>(1, times.sum()));
  const auto tenths = [whole](int64_t time) {
    return std::llround(1000 * static_cast<double>(time) / whole);
  };
  const auto shown = [](int64_t tenth) {
    return bubble_percent(static_cast<double>(tenth) / 1000);
  };
  const Slot waits = times[Slot::gpu] > 0 ? Slot::gpu : Slot::core;
  const int64_t all = tenths(times.idle()), waited = tenths(times[waits]);
  if (times[waits] == 0) return shown(all);
  return fmt::format("{}: {} {}, all else {}", shown(all), words_of(waits).name,
                     shown(waited), shown(all - waited));
}

std::string pipelines_text(const std::vector<const Pipeline*>& steps) {
  std::vector<const Pipeline*> known;
  SlotTimes times;
  for (const Pipeline* step : steps) {
    if (step == nullptr) continue;
    known.push_back(step);
    for (size_t i = 0; i < kSlots; ++i) times.times[i] += step->times.times[i];
  }
  const auto count = static_cast<int64_t>(known.size());
  const int64_t whole = times.sum();
  if (known.empty() || whole <= 0) return {};
  const Pipeline& first = *known[0];
  std::string text = fmt::format(
      "\n  pipeline{}: {} on {}, {}\n",
      first.schedule.empty() ? "" : " " + first.schedule,
      counted(first.stages.size(), "stage"), counted(first.devices.size(), "device"),
      counted(static_cast<size_t>(first.micro_batches), "micro-batch", "es"));
  if (first.rounds > 1) {
    text += fmt::format("  a step runs the schedule {} times; this is the first\n",
                        first.rounds);
  }
  text += fmt::format(
      "  {} x {} = {}{}, of which\n", counted(first.devices.size(), "device"),
      human_time(whole / count / static_cast<int64_t>(first.devices.size())),
      human_time(whole / count),
      count == 1 ? "" : fmt::format(" (mean of {} steps)", count));
  for (size_t i = 0; i < kSlots; ++i) {
    const int64_t time = times.times[i];
    if (time == 0) continue;
    const double share = static_cast<double>(time) / static_cast<double>(whole);
    text +=
        fmt::format("  {:<24}{:>10}{:>6}  {}\n", words_of(static_cast<Slot>(i)).name,
                    human_time(time / count), percent(share), text_bar(share));
  }
  return text + kPipelineLegend + bubble_line(known, times) + stage_table(known);
}

Json pipeline_json(const Pipeline& pipeline) {
  Json devices = Json::array(), stages = Json::array(), passes = Json::array();
  for (const PipelineDevice& device : pipeline.devices) {
    devices.push_back({{"rank", device.rank},
                       {"device", device.device},
                       {"stages", device.stages},
                       {"nanoseconds", times_json(device.times)}});
    if (device.activations != kNone) devices.back()["activations"] = device.activations;
  }
  for (const PipelineStage& stage : pipeline.stages) {
    stages.push_back({{"stage", stage.stage},
                      {"forward_nanoseconds", stage.forward},
                      {"backward_nanoseconds", stage.backward},
                      {"live_micro_batches", stage.most_live}});
  }
  for (const PipelinePass& pass : pipeline.passes) {
    passes.push_back({{"action", plan::to_text(pass.action)},
                      {"device", pipeline.devices[pass.device].device},
                      {"begin_nanoseconds", pass.begin - pipeline.begin},
                      {"end_nanoseconds", pass.end - pipeline.begin}});
  }
  Json json = {{"schedule", pipeline.schedule},
               {"micro_batches", pipeline.micro_batches},
               {"length_nanoseconds", pipeline.length()},
               {"nanoseconds", times_json(pipeline.times)},
               {"bubble", pipeline.bubble()},
               {"ideal_bubble", nullptr},
               {"devices", devices},
               {"stages", stages},
               {"passes", passes}};
  if (pipeline.ideal) json["ideal_bubble"] = *pipeline.ideal;
  return json;
}

}  // namespace lockstep::tracer
