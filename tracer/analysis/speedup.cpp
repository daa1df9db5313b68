#include "tracer/analysis/speedup.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

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

/// Returns how the speedup changes: for example, "falls from 2.11x to 0.52x".
std::string change(const Speedup& from, const Speedup& to) {
  if (from.hundredths == to.hundredths) return "stays at " + times(to);
  const char* verb = to.hundredths < from.hundredths ? "falls" : "rises";
  return fmt::format("{} from {} to {}", verb, times(from), times(to));
}

}  // namespace

std::string scaling_sentences(const Summary& dp, const Summary& ddp,
                              const Scaling& scaling) {
  const auto [device, port] = busiest_port(dp.train);
  const auto [other, ring] = busiest_port(ddp.train);
  return fmt::format(
      "In each step, DataParallel moves {} out of device {} and {} into it; "
      "DistributedDataParallel moves {} out of device {}, its busiest, and {} into it. "
      "With faster devices, DataParallel {}; with faster links as well, it {}.",
      human_bytes(port.out), device, human_bytes(port.in), human_bytes(ring.out), other,
      human_bytes(ring.in), change(scaling.here, scaling.faster_devices),
      change(scaling.faster_devices, scaling.faster_links));
}

}  // namespace lockstep::tracer
