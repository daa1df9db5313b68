// One sentence about what limits the devices, computed from the longest path:
// a step waits only for what is on this path; everything else costs nothing.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/units.h"
#include "tracer/analysis/speedup.h"
#include "tracer/analysis/summary.h"
#include "tracer/format/keys.h"

namespace lockstep::tracer {

namespace {

/// Shares of the path below this, other than computing, are not mentioned.
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

/// Returns true if the trace cannot tell the reduction from waiting for ranks.
bool any_unseen(const StepGroup& group) {
  return std::any_of(
      group.steps.begin(), group.steps.end(), [](const StepSummary& step) {
        return std::any_of(step.collectives.begin(), step.collectives.end(),
                           [](const CollectiveTime& time) {
                             return time.unseen && time.bucket != kNone;
                           });
      });
}

/// Returns the sentence about the loader if at least half of the host's part of the
/// path is waiting for batches; else "".
std::string explain_loader(const Summary& summary, double of_path) {
  const Utilisation& use = summary.train.utilisation;
  const double waited = use.data.value_or(0);
  if (waited < of_path / 2) return {};
  const std::string workers =
      use.worker_count == 0
          ? ""
          : fmt::format(" (prepared by {} worker{})", use.worker_count,
                        use.worker_count == 1 ? "" : "s");
  return fmt::format(
      "the loader is the bottleneck: during {} of a step, the host waits for the next "
      "batch{}; more workers (`-j`), if there are cores for them, prepare it earlier",
      percent(waited), workers);
}

/// Returns what a share of the path means, and what would reduce it.
std::string explain(const std::string& what, const std::string& share,
                    const Summary& summary) {
  const auto moved = [&] {
    const auto& group = summary.train;
    const auto found = group.bytes_by_why.find(what);
    const auto steps = static_cast<int64_t>(group.steps.size());
    return human_bytes(found == group.bytes_by_why.end() ? 0 : found->second / steps);
  };
  if (what == kWaitingForGpu) {
    return fmt::format(
        "for {} of its length, the longest path of a step waits for the GPU: {}", share,
        summary.processor == Processor::shared_gpus
            ? "a kernel's launch takes time, and devices that share a GPU may wait for "
              "each other's kernels"
            : "a kernel's launch takes time; a larger batch needs fewer launches per "
              "image");
  }
  if (what == kWaitingForCore) {
    return fmt::format(
        "for {} of its length, the longest path of a step waits for a core: the "
        "devices share too few cores, and more devices will not help",
        share);
  }
  if (what == "host") {
    return fmt::format(
        "the host is the bottleneck: for {} of its length, the longest path of a step "
        "waits for the next launch; a larger batch needs fewer launches per image",
        share);
  }
  if (what == "replicate") {
    return fmt::format(
        "packing the model and copying it to the replicas ({} a step) takes {} of the "
        "longest path of a step; its time does not depend on the batch size, so a "
        "larger batch amortizes "
        "it better",
        moved(), share);
  }
  if (what == "reduce") {
    return fmt::format(
        "summing the gradients on device 0 ({} a step) takes {} of the longest path of "
        "a step",
        moved(), share);
  }
  if (what == "all_reduce") {
    return fmt::format(
        "the all-reduce of the gradients ({} a step, over all ranks) is on the longest "
        "path for {} of its length: it continues after backward has ended{}",
        moved(), share,
        any_unseen(summary.train)
            ? "; no conclusion how much of this is waiting for another rank: the times "
              "of its messages were not measured"
            : "");
  }
  if (what == "bucket copies") {
    return fmt::format(
        "copying the means from the buckets back to the gradients takes {} of the "
        "longest path of a step; "
        "--gradient-as-bucket-view avoids it",
        share);
  }
  if (what == "waiting for ranks") {
    return fmt::format(
        "for {} of its length, the longest path of a step waits for ranks: some reach "
        "the same collective later",
        share);
  }
  return fmt::format("`{}` ({} a step) takes {} of the longest path of a step", what,
                     moved(), share);
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

/// Returns the CPU time (GPU time) of forward, loss and backward in a step, in ns.
double computing_cpu(const StepGroup& group) {
  double cpu = 0;
  for (const StepSummary& step : group.steps) {
    cpu += static_cast<double>(step.computing_cpu) /
           static_cast<double>(group.steps.size());
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
  for (const StepSummary& step : group.steps) {
    wall += static_cast<double>(step.kernel_wall);
    cpu += static_cast<double>(step.kernel_cpu);
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

std::string first_step_sentence(const StepGroup& group) {
  if (group.steps.size() < 2) return {};
  const int64_t first = group.steps.front().length;
  std::vector<int64_t> others;
  for (size_t i = 1; i < group.steps.size(); ++i) {
    others.push_back(group.steps[i].length);
  }
  const size_t half = others.size() / 2;
  std::nth_element(others.begin(), others.begin() + half, others.end());
  const auto median = static_cast<double>(others[half]);
  if (median <= 0 || static_cast<double>(first) <= kColdStep * median) return {};
  return fmt::format("The first step took {}, {:.1f} times {}; the means include it.",
                     human_time(first), static_cast<double>(first) / median,
                     others.size() == 1
                         ? "the other one"
                         : fmt::format("the median of the other {}", others.size()));
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
      "Estimated from the kernels' {}: {} are {} as one, at best. Their kernels of "
      "forward, loss and backward add up to {} a step, which takes {}; one device, "
      "with larger kernels, may need less: compare with its trace.",
      summary.imported || summary.clock == values::emulated ? "times" : "CPU time",
      devices_of(summary), as_fast(alone, step), human_time(alone), human_time(step));
}

std::string limiting_sentence(const Summary& summary, const Summary* single) {
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
  for (const PathShare& share : shares) {  // largest first
    const double part = static_cast<double>(share.nanoseconds) / whole;
    if (is_computing(share.what) || part < kWorthMentioning) continue;
    std::string text;
    if (share.what == "host") text = explain_loader(summary, part);
    if (text.empty()) {
      text = summary.devices == 1 ? explain_one_device(share.what, percent(part))
                                  : explain(share.what, percent(part), summary);
    }
    return gained + clock + text + ".";
  }
  return gained + clock + nothing_stands_out(summary, single, exposed / whole) + ".";
}

}  // namespace lockstep::tracer
