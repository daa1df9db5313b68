// One sentence about what limits the devices. Of several devices, the class decides
// that takes the most of their time besides computing (split.h); of one, the longest
// path.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/units.h"
#include "tracer/analysis/advice.h"
#include "tracer/analysis/speedup.h"
#include "tracer/analysis/summary.h"
#include "tracer/format/keys.h"

namespace lockstep::tracer {

namespace {

/// Shares of the time below this, other than computing, are not mentioned.
constexpr double kWorthMentioning = 0.10;

/// A kernel starts once it has its cores and then computes: its wall time is
/// its CPU time unless something else runs on these cores. (Waiting for a
/// core comes before the start and is not included.) Above this ratio, the
/// measurement reflects the other load on the machine more than the devices. A GPU's
/// task may launch several kernels, with gaps: nothing follows from its ratio.
constexpr double kDisturbed = 1.3;

/// If the speedup is at least this share of N, the extra devices are said to pay off.
constexpr double kPays = 0.75;

/// Above this ratio, the CPU time of all kernels explains a missing speedup.
constexpr double kLongerKernels = 1.15;

/// Returns " (prepared by 2 workers)", or "" if that is not recorded.
std::string by_workers(const Summary& summary) {
  const int64_t count = summary.train.utilisation.worker_count;
  if (count == 0) return "";
  return fmt::format(" (prepared by {} worker{})", count, count == 1 ? "" : "s");
}

/// Returns the sentence about the loader if at least half of the host's part of the
/// path is waiting for batches; else "".
std::string explain_loader(const Summary& summary, double of_path) {
  const double waited = summary.train.utilisation.data.value_or(0);
  if (waited < of_path / 2) return {};
  return fmt::format(
      "the loader is the bottleneck: during {} of a step, the host waits for the next "
      "batch{}",
      percent(waited), by_workers(summary));
}

/// Returns the bytes that move in a step for a reason.
std::string moved(const std::string& why, const StepGroup& group) {
  const auto found = group.bytes_by_why.find(why);
  const auto steps = static_cast<int64_t>(group.steps.size());
  return human_bytes(found == group.bytes_by_why.end() ? 0 : found->second / steps);
}

/// Returns what a class of time means that takes `share` of the devices' time.
std::string explain(Spent spent, const std::string& share, const Summary& summary) {
  const StepGroup& group = summary.train;
  switch (spent) {
    case Spent::gpu:
      return fmt::format("devices wait for the GPU for {} of their time: {}", share,
                         summary.processor == Processor::shared_gpus
                             ? "a kernel's launch takes time, and devices that share a "
                               "GPU may wait for each other's kernels"
                             : "a kernel's launch takes time");
    case Spent::core:
      return fmt::format(
          "devices wait for a core for {} of their time: they share too few cores, and "
          "more devices will not help",
          share);
    case Spent::host:
      return fmt::format(
          "the host is the bottleneck: for {} of their time, devices wait for its next "
          "launch",
          share);
    case Spent::loader:
      return fmt::format(
          "the loader is the bottleneck: for {} of their time, devices wait for the "
          "next batch{}",
          share, by_workers(summary));
    case Spent::replicate:
      return fmt::format(
          "packing the model and copying it to the replicas ({} a step) takes {} of "
          "the "
          "devices' time, whatever the batch size",
          moved(reasons::replicate, group), share);
    case Spent::reduce:
      return fmt::format(
          "summing the gradients on device 0 ({} a step) takes {} of the devices' time",
          moved(reasons::reduce, group), share);
    case Spent::collectives:
      return fmt::format(
          "the all-reduce of the gradients ({} a step, over all ranks) takes {} of the "
          "devices' time in which they do not compute",
          moved(reasons::all_reduce, group), share);
    case Spent::imbalance:
      return fmt::format("for {} of their time, devices wait for others that compute",
                         share);
    case Spent::undivided:
      return fmt::format(
          "for {} of their time, devices are in collectives ({} a step, over all "
          "ranks) "
          "whose messages were not timed: they transfer, or wait for another rank",
          share, moved(reasons::all_reduce, group));
    case Spent::lock:
      return fmt::format("for {} of their time, workers wait for the lock of the model",
                         share);
    default:
      return fmt::format("`{}` takes {} of the devices' time", words_of(spent).name,
                         share);
  }
}

/// One device shares nothing, so the sentence does not mention sharing.
std::string explain_one_device(const std::string& what, const std::string& share) {
  if (what == kWaitingForGpu) {
    return fmt::format(
        "the device waits for the GPU during {} of a step: a kernel's launch takes "
        "time; a larger batch needs fewer launches per image",
        share);
  }
  if (what == kWaitingForCore) {
    return fmt::format("the device waits for a core during {} of a step", share);
  }
  if (what == "host") {
    return fmt::format(
        "the device waits for the host's next launch during {} of a step; a larger "
        "batch gives the host less to do",
        share);
  }
  return fmt::format("`{}` takes {} of a step, while the device waits", what, share);
}

/// Returns what takes the most of a step besides computing, or "" if it is little.
std::string limit_of_one(const Summary& summary, double whole) {
  for (const PathShare& share : summary.train.mean_path()) {  // largest first
    const double part = static_cast<double>(share.nanoseconds) / whole;
    if (is_computing(share.what) || part < kWorthMentioning) continue;
    std::string loader;
    if (share.what == "host") loader = explain_loader(summary, part);
    if (!loader.empty()) return loader + "." + std::string(words_of(Remedy::loader));
    return explain_one_device(share.what, percent(part)) + ".";
  }
  return "";
}

/// Returns the same of several devices, and what would help if `remedy` is true.
std::string limit_of_several(const Summary& summary, bool remedy) {
  const StepGroup& train = summary.train;
  const Split split = train.mean_split();
  const auto cause = main_cause(split, train.mean_path(), train.pipelines(), summary);
  if (!cause || cause->of_time < kWorthMentioning) return "";
  return explain(cause->classes.front(), percent(cause->of_largest), summary) + "." +
         std::string(remedy ? words_of(cause->remedy) : "");
}

/// Returns the CPU time (GPU time) of forward, loss and backward in a step, in ns.
double computing_cpu(const StepGroup& group) {
  double cpu = 0;
  for (const auto* step : group.warm()) {
    cpu += static_cast<double>(step->computing_cpu) /
           static_cast<double>(group.warm().size());
  }
  return cpu;
}

/// Returns the loss, in 0.01x, that `speedup_line` calls `smaller kernels`.
int lost_to_smaller_kernels(const Speedup& speedup) {
  for (const SpeedupLoss& loss : speedup.losses) {
    if (loss.what == kSmallerKernels) return loss.hundredths;
  }
  return 0;
}

/// Returns "4 devices" or, with parameter servers, "4 workers with 1 server".
std::string devices_of(const Summary& summary) {
  const auto counted = [](int64_t count, const char* what) {
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
  };
  if (summary.servers == 0) return counted(summary.devices, "device");
  return counted(summary.devices - summary.servers, "worker") + " with " +
         counted(summary.servers, "server");
}

/// Returns what can be said if only computing takes a large share of the path.
std::string nothing_stands_out(const Summary& summary, const Summary* single,
                               double exposed) {
  if (summary.devices == 1) {
    return fmt::format("the device computes during {} of a step", percent(1 - exposed));
  }
  const std::string busy = fmt::format(
      "kernels run on {:.1f} of {} on average, and {} of the longest path is not "
      "computing",
      summary.train.devices_computing(), devices_of(summary), percent(exposed));
  const auto speedup = single ? divide_speedup(summary, *single) : std::nullopt;
  if (!speedup) return busy;
  const double alone = computing_cpu(single->train);
  const double cpu = alone > 0 ? computing_cpu(summary.train) / alone : 1;
  const bool longer = cpu > kLongerKernels;
  const int lost = lost_to_smaller_kernels(*speedup);
  const std::string kernels =
      fmt::format(
          "forward, loss and backward of {} smaller batches take {:.2f} times the {} "
          "time of one device's",
          summary.devices - summary.servers, cpu,
          summary.processor == Processor::cores ? "CPU" : "GPU") +
      (lost > 0 ? fmt::format(" (a loss of {:.2f}x)", lost / 100.0) : "");
  if (speedup->hundredths >= kPays * static_cast<double>(100 * summary.devices)) {
    return "the extra devices pay off: " + busy +
           (longer ? ", although " + kernels : "");
  }
  return busy + (longer ? ", but " + kernels : ", but many small losses add up");
}

std::string compare(const Summary& summary, const Summary& single) {
  const double ours = seconds(summary.train.mean_length());
  const double theirs = seconds(single.train.mean_length());
  if (ours <= 0 || theirs <= 0) return {};
  return fmt::format("{} {} {} where one takes {}: {:.2f}x. ", devices_of(summary),
                     summary.devices == 1 ? "takes" : "take",
                     human_time(summary.train.mean_length()),
                     human_time(single.train.mean_length()), theirs / ours);
}

}  // namespace

bool is_computing(std::string_view what) {
  static const std::set<std::string_view> computing = {
      phases::forward, phases::parallel_apply, phases::backward,
      phases::loss,    phases::optimizer,      categories::kernel};
  return computing.contains(what);
}

bool is_shared_computing(std::string_view what) {
  return is_computing(what) && what != phases::optimizer;
}

double wall_over_cpu(const StepGroup& group) {
  double wall = 0, cpu = 0;
  for (const auto* step : group.warm()) {
    wall += static_cast<double>(step->kernel_wall);
    cpu += static_cast<double>(step->kernel_cpu);
  }
  return cpu > 0 ? wall / cpu : 1;
}

bool is_disturbed(const Summary& summary) {
  return summary.processor == Processor::cores && summary.clock != values::emulated &&
         wall_over_cpu(summary.train) > kDisturbed;
}

bool does_the_same_work(const Summary& summary, const Summary& single) {
  const auto batch = [](const Summary& s) {
    return s.train.steps.empty() ? 0 : s.train.steps.front().batch;
  };
  return single.devices == 1 && !single.null_devices && !single.imported &&
         summary.arch == single.arch && summary.clock == single.clock &&
         summary.assumed == single.assumed && batch(summary) == batch(single) &&
         single.train.mean_length() > 0;
}

std::string warm_up_sentence(const StepGroup& group) {
  const int64_t usual = group.mean_length();
  if (group.steps.empty() || !group.steps.front().warm_up || usual <= 0) return {};
  const int64_t first = group.steps.front().length;
  const size_t others = group.steps.size() - 1;
  return fmt::format(
      "The first step took {}, {:.1f} times {}: a warm-up, which is in no mean.",
      human_time(first), static_cast<double>(first) / static_cast<double>(usual),
      others == 1 ? "the other one" : fmt::format("the mean of the other {}", others));
}

std::string speedup_sentence(const Summary& summary, const Summary* single) {
  const int64_t step = summary.train.mean_length();
  if (summary.devices < 2 || summary.null_devices || step <= 0) return {};
  if (is_disturbed(summary)) return {};
  if (single != nullptr && does_the_same_work(summary, *single)) {
    if (is_disturbed(*single)) return {};
    const int64_t alone = single->train.mean_length();
    return fmt::format("{} are {} as one: the mean step takes {}, on one device {}.",
                       devices_of(summary), as_fast(alone, step), human_time(step),
                       human_time(alone));
  }
  const bool launches = summary.processor != Processor::cores && !summary.imported &&
                        summary.clock != values::emulated;
  if (launches) return {};  // one GPU would wait for launches, too: unknown how long
  const auto alone = std::llround(computing_cpu(summary.train));
  if (alone <= 0) return {};
  return fmt::format(
      "Estimated: {} are {} as one that ran the same kernels without a gap. Those of "
      "forward, loss and backward add up to {}{} a step, which takes {}; one device "
      "has "
      "larger kernels, and gaps of its own: compare with its trace.",
      devices_of(summary), as_fast(alone, step), human_time(alone),
      summary.imported || summary.clock == values::emulated ? "" : " of CPU time",
      human_time(step));
}

namespace {

std::string limit_of(const Summary& summary, const Summary* single, bool remedy) {
  if (summary.null_devices) return fmt::format("{}.", kNullSentence);
  if (summary.imported) {
    return "An imported trace does not record what waited for what, so no bottleneck "
           "is named.";
  }
  const std::string clock =
      summary.clock != values::emulated && !summary.emulated_devices.empty()
          ? "On the measured clock, with emulated devices, "
      : summary.clock != values::emulated ? "On the measured clock "
      : summary.as_measured ? "On the emulated clock, with the recorded durations, "
                            : "On the emulated clock, with hardware for every device, ";
  const std::string gained = single ? compare(summary, *single) : "";
  const auto shares = summary.train.mean_path();
  double whole = 0, exposed = 0;
  for (const PathShare& share : shares) {
    whole += static_cast<double>(share.nanoseconds);
    if (!is_computing(share.what)) exposed += static_cast<double>(share.nanoseconds);
  }
  const bool own_pace = summary.train.at_own_pace();
  if (whole <= 0 && !own_pace) {
    return "The trace contains no complete training step to judge.";
  }

  if (is_disturbed(summary) || (single && is_disturbed(*single))) {
    double ratio = wall_over_cpu(summary.train);
    if (single) ratio = std::max(ratio, wall_over_cpu(single->train));
    return fmt::format(
        "{}no conclusion about the devices is possible: kernels took {:.1f} times "
        "their CPU time, so other programs (or this run's loading threads) used the "
        "cores; repeat the measurement when the cores are idle.",
        clock, ratio);
  }

  if (own_pace) {
    return gained + clock +
           "ranks make steps at their own pace, so no path leads through a step and no "
           "bottleneck is named.";
  }
  const std::string text = summary.devices == 1 ? limit_of_one(summary, whole)
                                                : limit_of_several(summary, remedy);
  if (!text.empty()) return gained + clock + text;
  return gained + clock + nothing_stands_out(summary, single, exposed / whole) + ".";
}

}  // namespace

std::string limiting_sentence(const Summary& summary, const Summary* single) {
  return limit_of(summary, single, true);
}

std::string limiting_cause(const Summary& summary) {
  return limit_of(summary, nullptr, false);
}

}  // namespace lockstep::tracer
