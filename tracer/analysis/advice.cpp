#include "tracer/analysis/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "base/units.h"

namespace lockstep::tracer {

namespace {

constexpr double kWorthHelping = 0.02;  ///< of the step

enum class Remedy : uint8_t {
  other,
  device0,
  links,
  core,
  gpu,
  shared_gpu,
  ranks,
  host,
  loader
};

Remedy remedy_for(std::string_view what, const Summary& summary) {
  static constexpr std::string_view of_dp[] = {reasons::scatter, reasons::replicate,
                                               reasons::gather,  reasons::reduce,
                                               reasons::targets, reasons::grad_scatter};
  if (what == kWaitingForCore) return Remedy::core;
  if (what == kWaitingForGpu) {
    const bool shared = summary.processor == Processor::shared_gpus;
    return shared ? Remedy::shared_gpu : Remedy::gpu;
  }
  if (what == "waiting for ranks") return Remedy::ranks;
  if (what == "host") return Remedy::host;
  if (what == phases::data) return Remedy::loader;
  if (what == "bucket copies") return Remedy::other;
  const bool by_dp =
      summary.mode == "dp" && std::ranges::find(of_dp, what) != std::end(of_dp);
  return by_dp ? Remedy::device0 : Remedy::links;
}

std::string_view words_of(Remedy remedy) {
  switch (remedy) {
    case Remedy::device0:
      return " DistributedDataParallel sends no weights, and sums gradients while "
             "backward runs (`train --mode ddp`; `emulate --mode ddp` shows it from a "
             "recording of one device).";
    case Remedy::links:
      return " Faster links shorten it (`emulate --link-gb-per-s`).";
    case Remedy::core:
      return " Fewer devices, or devices with cores of their own (`emulate`), wait "
             "less.";
    case Remedy::gpu:
      return " Fewer, larger kernels wait less: a larger batch or, on one device, a "
             "step in one launch (`--cuda-graph`).";
    case Remedy::shared_gpu:
      return " One GPU per device, or fewer, larger kernels (a larger batch; on one "
             "device, `--cuda-graph`), wait less.";
    case Remedy::ranks:
      return " The ranks that come last decide: look at what they run.";
    case Remedy::host:
      return " With larger batches, kernels take longer, and the calls that launch "
             "them "
             "do not.";
    case Remedy::loader:
      return " More loader workers prepare batches earlier (`-j`).";
    case Remedy::other:
      break;
  }
  return "";
}

struct Share {
  int64_t nanoseconds = 0;
  std::vector<std::string_view> whats;  ///< largest first
};

std::string joined(const std::vector<std::string_view>& whats) {
  std::string text;
  for (size_t i = 0; i < whats.size(); ++i) {
    if (i > 0) text += i + 1 == whats.size() ? " and " : ", ";
    text += whats[i] == "host" ? "the host's work" : whats[i];
  }
  return text;
}

/// Other programs used the cores: names what the path consists of, and no bound.
std::string disturbed_help(const Share& most, Remedy remedy, double part) {
  if (part < kWorthHelping) return {};
  return fmt::format(
      "What would help: {} {} {} of this step's longest path.{} How much faster the "
      "step would be is unknown, because other programs used the cores.",
      joined(most.whats), most.whats.size() > 1 ? "are" : "is", percent(part),
      words_of(remedy));
}

}  // namespace

std::string help_sentence(const StepSummary& step, const Summary& summary) {
  const bool unknown = summary.devices < 2 || summary.null_devices ||
                       summary.imported || step.own_pace || step.path <= 0 ||
                       step.length <= 0;
  if (unknown) return {};
  std::array<Share, 9> shares;
  for (const PathShare& share : step.path_shares) {  // largest first
    if (is_computing(share.what)) continue;
    Share& own = shares[static_cast<size_t>(remedy_for(share.what, summary))];
    own.nanoseconds += share.nanoseconds;
    own.whats.push_back(share.what);
  }
  const auto most = std::ranges::max_element(shares, {}, &Share::nanoseconds);
  const auto remedy = static_cast<Remedy>(most - shares.begin());
  const auto length = static_cast<double>(step.length);
  const double part = static_cast<double>(most->nanoseconds) / length;
  if (is_disturbed(summary)) {
    const auto path = static_cast<double>(step.path);
    return disturbed_help(*most, remedy, static_cast<double>(most->nanoseconds) / path);
  }
  if (part >= 1) {
    return fmt::format("What would help: all of this step is {}.{}",
                       joined(most->whats), words_of(remedy));
  }
  if (part < kWorthHelping) {
    return "What would help: faster devices. No kind of wait or transfer reaches 2 % "
           "of the step.";
  }
  return fmt::format(
      "What would help: without {}, this step would be at most {:.2f}x as fast.{}",
      joined(most->whats), 1 / (1 - part), words_of(remedy));
}

}  // namespace lockstep::tracer
