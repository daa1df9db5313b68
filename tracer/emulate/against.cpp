#include "tracer/emulate/against.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <stdexcept>

#include "base/units.h"
#include "tracer/analysis/summary.h"
#include "tracer/format/facts.h"
#include "tracer/format/index.h"
#include "tracer/format/keys.h"

namespace lockstep::tracer {
namespace {

void require_same(const char* what, const std::string& predicted,
                  const std::string& recorded) {
  if (predicted == recorded) return;
  throw std::runtime_error(
      fmt::format("the prediction is of {0} {1}, but the recording of {0} {2}; fix: "
                  "compare with a recording of the same thing",
                  what, predicted, recorded));
}

const StepGroup& training_of(const Summary& summary, const char* which) {
  if (!summary.train.steps.empty()) return summary.train;
  throw std::runtime_error(
      fmt::format("{} has no complete training step; fix: record at least one", which));
}

void require_comparable(const Summary& predicted, const Summary& recorded) {
  const auto batch = [](const StepGroup& group) {
    return std::to_string(group.steps[0].batch);
  };
  require_same("mode", predicted.mode, recorded.mode);
  require_same("network", predicted.arch, recorded.arch);
  require_same("devices", std::to_string(predicted.devices),
               std::to_string(recorded.devices));
  require_same("batch", batch(training_of(predicted, "the prediction")),
               batch(training_of(recorded, "the recording")));
  if (recorded.null_devices) {
    throw std::runtime_error(
        "the recorded devices compute nothing, so their times mean nothing; fix: "
        "record with --device-type cpu or cuda");
  }
}

/// Returns the time in which messages of such collectives moved to a rank: per step, as
/// the mean over the ranks. 0 if it was not recorded.
int64_t transfers(const StepGroup& group, bool of_buckets) {
  int64_t sum = 0, unseen = 0;
  size_t ranks = 0;
  for (const auto* step : group.warm()) {
    ranks += step->rank_lengths.size();
    for (const CollectiveTime& collective : step->collectives) {
      const bool is_one =
          of_buckets ? collective.bucket != kNone : collective.what == "buffers";
      if (!is_one) continue;
      sum += collective.transfer;
      unseen += collective.unseen;
    }
  }
  return ranks == 0 || unseen > 0 ? 0 : sum / static_cast<int64_t>(ranks);
}

/// Returns PredictedTime's time of one device.
int64_t time_of_each(const StepGroup& group, const NamedPhase& phase) {
  if (phase.name == phases::all_reduce) return transfers(group, true);
  if (phase.name == phases::broadcast) return transfers(group, false);
  const auto& busy = phase.cost.busy;
  if (busy.empty()) return 0;
  int64_t sum = 0;
  for (const auto& [device, time] : busy) sum += time;
  return sum / static_cast<int64_t>(busy.size());
}

std::vector<PredictedTime> compare_phases(const StepGroup& predicted,
                                          const StepGroup& recorded) {
  std::vector<PredictedTime> times{
      {"one step", predicted.mean_length(), recorded.mean_length()}};
  const std::vector<NamedPhase> theirs = recorded.mean_phases();
  for (const NamedPhase& phase : predicted.mean_phases()) {
    const auto found =
        std::find_if(theirs.begin(), theirs.end(),
                     [&](const NamedPhase& other) { return other.name == phase.name; });
    if (found == theirs.end()) continue;
    times.push_back({phase.name, phase.cost.cost(), found->cost.cost(),
                     time_of_each(predicted, phase), time_of_each(recorded, *found)});
  }
  return times;
}

/// Returns the time of all kernels by operation, in ns per training step and device.
std::map<std::string, double> kernels_by_op(const Trace& trace,
                                            const Summary& summary) {
  std::map<std::string, double> times;
  const Index index(trace);
  for (const Event& event : trace.events) {
    if (!event.is(categories::kernel)) continue;
    const Event* op = index.find(event.op);
    times[op == nullptr ? event.name.str() : op->name.str()] +=
        static_cast<double>(event.dur);
  }
  const auto shares = static_cast<double>(summary.train.steps.size()) *
                      static_cast<double>(summary.devices);
  for (auto& [op, time] : times) time /= shares;
  return times;
}

PredictedTime largest_difference(const std::map<std::string, double>& predicted,
                                 const std::map<std::string, double>& recorded) {
  PredictedTime worst;
  for (const auto& [op, theirs] : recorded) {
    const auto found = predicted.find(op);
    const double ours = found == predicted.end() ? 0 : found->second;
    const PredictedTime now{op, static_cast<int64_t>(ours),
                            static_cast<int64_t>(theirs)};
    if (std::abs(now.predicted - now.recorded) >
        std::abs(worst.predicted - worst.recorded)) {
      worst = now;
    }
  }
  return worst;
}

double share_waiting(const StepGroup& recorded, int64_t devices) {
  double waited = 0, whole = 0;
  for (const StepSummary& step : recorded.steps) {
    waited += static_cast<double>(step.queued);
    whole += static_cast<double>(step.length) * static_cast<double>(devices);
  }
  return whole > 0 ? waited / whole : 0;
}

}  // namespace

Against against(const Trace& predicted, const Trace& recorded) {
  const Summary ours = summarize(predicted), theirs = summarize(recorded);
  require_comparable(ours, theirs);
  Against result;
  result.times = compare_phases(ours.train, theirs.train);
  result.worst_kernels = largest_difference(kernels_by_op(predicted, ours),
                                            kernels_by_op(recorded, theirs));
  result.processor = theirs.processor;
  result.waiting = share_waiting(theirs.train, theirs.devices);
  return result;
}

std::string against_text(const Against& result, const std::string& recorded_name) {
  std::string text = fmt::format(
      "against {}, means over its training steps\n\n  {:<16}{:>33}{:>36}\n"
      "  {:<16}{:>12}{:>12}{:>9}{:>15}{:>12}{:>9}\n",
      recorded_name, "", "first to last kernel or copy", "on a device, without waits",
      "", "predicted", "recorded", "error", "predicted", "recorded", "error");
  for (const PredictedTime& time : result.times) {
    text += fmt::format("  {:<16}{:>12}{:>12}{:>+8.1f}%", time.what,
                        human_time(time.predicted), human_time(time.recorded),
                        100 * time.error());
    if (time.predicted_each > 0 && time.recorded_each > 0) {
      text += fmt::format("{:>15}{:>12}{:>+8.1f}%", human_time(time.predicted_each),
                          human_time(time.recorded_each), 100 * time.error_each());
    }
    text += "\n";
  }
  const PredictedTime& worst = result.worst_kernels;
  if (!worst.what.empty()) {
    text += fmt::format(
        "\nThe kernels of {} differ most: {} predicted, {} recorded, per step and "
        "device.\n",
        worst.what, human_time(worst.predicted), human_time(worst.recorded));
  }
  const bool on_gpus = result.processor != Processor::cores;
  if (result.waiting > 0.05) {
    text += fmt::format(
        "The recorded devices waited for {} during {} of their time, but {}\n",
        on_gpus ? "the GPU" : "a core", percent(result.waiting),
        on_gpus ? "the prediction starts each kernel as soon as it could start; fix: "
                  "record a larger batch, or one GPU per device"
                : "the prediction is for devices with hardware of their own; fix: "
                  "record with fewer devices, or on more cores");
  }
  return text;
}

Json against_json(const Against& result) {
  const auto row = [](const PredictedTime& time) {
    return Json{{"what", time.what},
                {"predicted_us", static_cast<double>(time.predicted) / 1e3},
                {"recorded_us", static_cast<double>(time.recorded) / 1e3},
                {"error", time.error()},
                {"predicted_each_us", static_cast<double>(time.predicted_each) / 1e3},
                {"recorded_each_us", static_cast<double>(time.recorded_each) / 1e3},
                {"error_each", time.error_each()}};
  };
  Json times = Json::array();
  for (const PredictedTime& time : result.times) times.push_back(row(time));
  const bool on_cores = result.processor == Processor::cores;
  return {{"times", times},
          {"worst_kernels", row(result.worst_kernels)},
          {on_cores ? "waiting_for_cores" : "waiting_for_gpu", result.waiting}};
}

}  // namespace lockstep::tracer
