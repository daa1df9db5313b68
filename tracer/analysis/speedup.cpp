#include "tracer/analysis/speedup.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/units.h"
#include "tracer/format/keys.h"

namespace lockstep::tracer {

namespace {

constexpr char kOther[] = "other";

/// Losses below this are added up as `other`.
constexpr int kWorthNaming = 5;  // 0.05x

/// Returns the cause to which a share of the longest path belongs.
std::string cause_of(const std::string& what) {
  return is_shared_computing(what) ? kSmallerKernels : what;
}

/// Returns the mean time of each cause in a step, in ns; they add up to the step's
/// time.
std::map<std::string, double> times_by_cause(const StepGroup& group) {
  std::map<std::string, double> times;
  for (const PathShare& share : group.mean_parts()) {
    times[cause_of(share.what)] += static_cast<double>(share.nanoseconds);
  }
  return times;
}

int64_t batch_of(const StepGroup& group) {
  return group.steps.empty() ? 0 : group.steps.front().batch;
}

bool comparable(const Summary& ours, const Summary& single) {
  return ours.devices > 1 && single.devices == 1 && ours.arch == single.arch &&
         ours.clock == single.clock && ours.assumed == single.assumed &&
         !ours.null_devices && !ours.imported &&
         batch_of(ours.train) == batch_of(single.train) &&
         !ours.train.mean_path().empty() && !single.train.mean_path().empty();
}

/// Rounds the losses so that they add up to `total`: those that
/// rounding changes most are rounded the other way.
void round_losses(const std::vector<double>& exact, int total,
                  std::vector<SpeedupLoss>& losses) {
  int left = total;
  std::vector<size_t> order(losses.size());
  for (size_t i = 0; i < losses.size(); ++i) {
    order[i] = i;
    losses[i].hundredths = static_cast<int>(std::floor(exact[i]));
    left -= losses[i].hundredths;
  }
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return exact[a] - std::floor(exact[a]) > exact[b] - std::floor(exact[b]);
  });
  for (size_t i = 0; left > 0; i = (i + 1) % order.size(), --left) {
    ++losses[order[i]].hundredths;
  }
}

/// Sorts the losses by size and joins those that are too small to name.
void tidy(std::vector<SpeedupLoss>& losses) {
  std::stable_sort(losses.begin(), losses.end(), [](const auto& a, const auto& b) {
    return std::abs(a.hundredths) > std::abs(b.hundredths);
  });
  const auto small = std::find_if(losses.begin(), losses.end(), [](const auto& loss) {
    return std::abs(loss.hundredths) < kWorthNaming;
  });
  SpeedupLoss other{kOther, 0, 0};
  for (auto loss = small; loss != losses.end(); ++loss) {
    other.added += loss->added;
    other.hundredths += loss->hundredths;
  }
  losses.erase(small, losses.end());
  if (other.hundredths != 0) losses.push_back(other);
}

}  // namespace

std::string as_fast(int64_t theirs, int64_t ours) {
  const double ratio = static_cast<double>(theirs) / static_cast<double>(ours);
  if (ratio >= 1.005) return fmt::format("{:.2f}x as fast", ratio);
  return ratio > 1 / 1.005 ? "as fast" : fmt::format("{:.2f}x as slow", 1 / ratio);
}

std::optional<Speedup> divide_speedup(const Summary& ours, const Summary& single) {
  if (!comparable(ours, single)) return std::nullopt;
  const auto devices = static_cast<double>(ours.devices);
  const auto step = static_cast<double>(ours.train.mean_length());
  const auto alone = static_cast<double>(single.train.mean_length());
  if (step <= 0 || alone <= 0) return std::nullopt;

  std::map<std::string, double> added = times_by_cause(ours.train);
  for (const auto& [cause, time] : times_by_cause(single.train)) {
    added[cause] -= time / devices;
  }
  Speedup speedup{ours.devices, static_cast<int>(std::lround(100 * alone / step)), {}};
  std::vector<double> exact;
  for (const auto& [cause, time] : added) {
    speedup.losses.push_back({cause, std::llround(time), 0});
    exact.push_back(100 * devices * time / step);
  }
  round_losses(exact, static_cast<int>(100 * ours.devices) - speedup.hundredths,
               speedup.losses);
  tidy(speedup.losses);
  return speedup;
}

std::string speedup_line(const Speedup& speedup) {
  std::string line = fmt::format("{}.00x", speedup.devices);
  for (const SpeedupLoss& loss : speedup.losses) {
    const bool gain = loss.hundredths < 0;
    // Smaller kernels never speed a step up; less computing on the longest path does.
    const bool hidden = gain && loss.what == kSmallerKernels;
    line += fmt::format(" {} {:.2f} {}", gain ? "+" : "−",
                        std::abs(loss.hundredths) / 100.0,
                        hidden ? "computing hidden behind other work" : loss.what);
  }
  return line + fmt::format(" = {:.2f}x", speedup.hundredths / 100.0);
}

namespace {

/// Returns the device that sends the most, with its bytes per step.
std::pair<int64_t, Port> busiest_port(const StepGroup& group) {
  std::pair<int64_t, Port> busiest;
  for (const auto& [device, port] : group.ports) {
    if (device >= 0 && port.out > busiest.second.out) busiest = {device, port};
  }
  const auto steps = static_cast<int64_t>(std::max<size_t>(1, group.steps.size()));
  busiest.second.out /= steps;
  busiest.second.in /= steps;
  return busiest;
}

std::string times(const Speedup& speedup) {
  return fmt::format("{:.2f}x", speedup.hundredths / 100.0);
}

/// Returns what these causes take from the speedup, in 0.01x; 0 if they are a gain.
int taken_by(const Speedup& speedup, const std::set<std::string>& causes) {
  int sum = 0;
  for (const SpeedupLoss& loss : speedup.losses) {
    if (causes.contains(loss.what)) sum += loss.hundredths;
  }
  return std::max(0, sum);
}

int taken_by_sharing(const Speedup& dp) {
  return taken_by(dp, {reasons::scatter, reasons::replicate, reasons::gather,
                       reasons::grad_scatter, reasons::reduce});
}
int taken_by_host(const Speedup& speedup) { return taken_by(speedup, {"host"}); }

/// Returns what takes DataParallel's speedup: first what it does to share the work.
std::string what_takes(const Speedup& dp, const Summary& summary) {
  const auto [device, port] = busiest_port(summary.train);
  const int sharing = taken_by_sharing(dp), host = taken_by_host(dp);
  const int kernels = taken_by(dp, {kSmallerKernels});
  const int rest =
      static_cast<int>(100 * dp.devices) - dp.hundredths - sharing - host - kernels;
  const std::pair<int, std::string> parts[] = {
      {sharing,
       fmt::format("sending the model out of device {} ({} a step) and summing "
                   "the gradients there ({})",
                   device, human_bytes(port.out), human_bytes(port.in))},
      {host, "the host, which launches the kernels"},
      {kernels, "smaller kernels"},
      {rest, "other causes"}};
  std::string text;
  for (const auto& [hundredths, what] : parts) {
    if (hundredths < kWorthNaming) continue;
    text += fmt::format("{}{:.2f}x {} {}", text.empty() ? "" : "; ", hundredths / 100.0,
                        text.empty() ? "goes to" : "to", what);
  }
  return text.empty() ? "nothing is missing" : text;
}

/// Returns what is faster than DataParallel on the GPUs.
std::string what_helps(const ScalingRuns& runs) {
  const Scaling &dp = *runs.of_dp, &ddp = *runs.of_ddp;
  const std::pair<const Speedup&, std::string> changes[] = {
      {ddp.faster_devices, "DistributedDataParallel"},
      {dp.faster_links, fmt::format("links of {} GB/s", runs.faster_gb_per_s)},
      {ddp.faster_links, "both"}};
  std::string helps, others;
  for (const auto& [speedup, what] : changes) {
    const bool faster = speedup.hundredths > dp.faster_devices.hundredths;
    std::string& text = faster ? helps : others;
    text += fmt::format("{}{}, {}", text.empty() ? "" : "; ", what, times(speedup));
  }
  if (helps.empty()) helps = "nothing of " + others;
  const Speedup& gpus = dp.faster_devices;
  const bool launches = taken_by_host(gpus) > taken_by_sharing(gpus);
  return helps + (launches ? ". Larger batches have less to launch per image" : "");
}

/// Returns what holds whatever else the machine did: the bytes.
std::string lesson_of_bytes(const ScalingRuns& runs, double wall_over_cpu) {
  const auto [device, port] = busiest_port(runs.dp.train);
  const auto [other, ring] = busiest_port(runs.ddp.train);
  const auto sent = [bytes = static_cast<double>(port.out)](double gb_per_s) {
    return human_time(std::llround(bytes / gb_per_s));
  };
  return fmt::format(
      "What {} devices give: unknown. Kernels took {:.1f} times their CPU time, so "
      "other programs (or this run's loading threads) used the cores; repeat when they "
      "are idle.\n"
      "What limits them: in each step, DataParallel sends {} out of device {} and {} "
      "into it, however fast the devices are; {} take {} at {} GB/s.\n"
      "What would help, the more the faster the devices: DistributedDataParallel, "
      "which "
      "sends {} out of device {} while backward runs; links of {} GB/s, where {} take "
      "{}.\n",
      runs.dp.devices, wall_over_cpu, human_bytes(port.out), device,
      human_bytes(port.in), human_bytes(port.out), sent(runs.gb_per_s), runs.gb_per_s,
      human_bytes(ring.out), other, runs.faster_gb_per_s, human_bytes(port.out),
      sent(runs.faster_gb_per_s));
}

}  // namespace

std::string scaling_lesson(const ScalingRuns& runs) {
  if (runs.dp.devices < 2) return {};
  double ratio = 0;
  for (const Summary* run : {&runs.single, &runs.dp, &runs.ddp}) {
    if (is_disturbed(*run)) ratio = std::max(ratio, wall_over_cpu(run->train));
  }
  if (ratio > 0) return lesson_of_bytes(runs, ratio);
  if (!runs.of_dp || !runs.of_ddp) return {};
  const Scaling& dp = *runs.of_dp;
  return fmt::format(
      "What {} devices give: with DataParallel, {} one device if each is as fast as a "
      "core here, {} if they are GPUs ({}); links of {} GB/s.\n"
      "What takes the rest: on the GPUs, {}.\n"
      "What would help: {}.\n",
      runs.dp.devices, times(dp.here), times(dp.faster_devices), runs.gpu,
      runs.gb_per_s, what_takes(dp.faster_devices, runs.dp), what_helps(runs));
}

}  // namespace lockstep::tracer
