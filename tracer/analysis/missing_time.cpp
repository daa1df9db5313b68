#include "tracer/analysis/missing_time.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/units.h"
#include "tracer/format/keys.h"

namespace lockstep::tracer {

RoundedTimes::RoundedTimes(int64_t longest) {
  for (int64_t limit = 1'000'000'000; longest < limit && decimals_ < 3; limit /= 10) {
    ++decimals_;
    unit_ /= 10;
  }
}

std::vector<int64_t> RoundedTimes::units(const std::vector<int64_t>& parts) const {
  std::vector<int64_t> rounded;
  int64_t sum = 0, before = 0;
  for (const int64_t part : parts) {
    sum += part;
    const int64_t until =
        std::llround(static_cast<double>(sum) / static_cast<double>(unit_));
    rounded.push_back(until - before);
    before = until;
  }
  return rounded;
}

std::string RoundedTimes::text(int64_t units) const {
  return fmt::format("{:.{}f}", static_cast<double>(units) / std::pow(10, decimals_),
                     decimals_);
}

namespace {

constexpr char kComputingPart[] = "computing", kRest[] = "other";
/// Parts below this share of a step are joined; a step that is longer by less than this
/// counts as equally long.
constexpr double kSmallPart = 0.01;

int64_t batch_per_step(const Summary& summary) {
  const auto& steps = summary.train.steps;
  return steps.empty() ? 0 : steps.front().batch;
}

bool have_the_same_share(const Summary& ours, const Summary& single) {
  return ours.devices > 1 && single.devices == 1 && ours.arch == single.arch &&
         ours.clock == single.clock && !ours.null_devices && !ours.imported &&
         batch_per_step(ours) == ours.devices * batch_per_step(single) &&
         ours.train.mean_length() > 0 && single.train.mean_length() > 0 &&
         !ours.train.mean_path().empty() && !single.train.mean_path().empty();
}

void add_part(std::vector<PathShare>& parts, const std::string& what, int64_t time) {
  auto part = std::find_if(parts.begin(), parts.end(),
                           [&](const PathShare& p) { return p.what == what; });
  if (part == parts.end()) part = parts.insert(part, {what, 0});
  part->nanoseconds += time;
}

std::vector<PathShare> added_parts(const StepGroup& ours, const StepGroup& single) {
  std::vector<PathShare> parts;
  for (const auto& [group, sign] : {std::pair{&ours, 1}, std::pair{&single, -1}}) {
    for (const PathShare& share : group->mean_parts()) {
      const bool computes = is_shared_computing(share.what);
      add_part(parts, computes ? kComputingPart : share.what, sign * share.nanoseconds);
    }
  }
  return parts;
}

std::vector<PathShare> without_small(const std::vector<PathShare>& parts, double step) {
  std::vector<PathShare> large;
  int64_t rest = 0;
  for (const PathShare& part : parts) {
    if (std::abs(static_cast<double>(part.nanoseconds)) < kSmallPart * step) {
      rest += part.nanoseconds;
    } else {
      large.push_back(part);
    }
  }
  std::stable_sort(large.begin(), large.end(), [](const auto& a, const auto& b) {
    return std::llabs(a.nanoseconds) > std::llabs(b.nanoseconds);
  });
  if (rest != 0) large.push_back({kRest, rest});
  return large;
}

}  // namespace

double MissingTime::speedup() const {
  return static_cast<double>(devices) * static_cast<double>(alone) /
         static_cast<double>(step);
}

std::optional<MissingTime> missing_time(const Summary& ours, const Summary& single) {
  if (!have_the_same_share(ours, single)) return std::nullopt;
  MissingTime missing{ours.devices,
                      batch_per_step(ours),
                      single.train.mean_length(),
                      ours.train.mean_length(),
                      {}};
  missing.parts = without_small(added_parts(ours.train, single.train),
                                static_cast<double>(missing.step));
  return missing;
}

std::string missing_line(const MissingTime& missing) {
  const RoundedTimes rounded(std::max(missing.step, missing.alone));
  std::vector<int64_t> times{missing.alone};
  for (const PathShare& part : missing.parts) times.push_back(part.nanoseconds);
  const auto units = rounded.units(times);
  std::string line = rounded.text(units[0]) + " ms";
  int64_t sum = units[0];
  for (size_t i = 0; i < missing.parts.size(); ++i) {
    const int64_t part = units[i + 1];
    sum += part;
    if (part == 0) continue;
    line += fmt::format(" {} {} {}", part < 0 ? "−" : "+",
                        rounded.text(std::llabs(part)), missing.parts[i].what);
  }
  return line + " = " + rounded.text(sum) + " ms";
}

double parallel_share(const StepGroup& one_device) {
  double parallel = 0, whole = 0;
  for (const PathShare& share : one_device.mean_parts()) {
    const auto time = static_cast<double>(share.nanoseconds);
    whole += time;
    if (share.what == phases::forward || share.what == phases::backward) {
      parallel += time;
    }
  }
  return whole > 0 ? parallel / whole : 0;
}

double predicted_speedup(double parallel_share, int64_t devices) {
  return 1 / ((1 - parallel_share) + parallel_share / static_cast<double>(devices));
}

std::string missing_sentence(const Summary& ours, const Summary& single) {
  const auto missing = missing_time(ours, single);
  if (!missing) return {};
  const int64_t added = missing->step - missing->alone;
  const bool equal = std::abs(static_cast<double>(added)) <
                     kSmallPart * static_cast<double>(missing->alone);
  std::string text = fmt::format(
      "{} images on {} devices take {}, {} on one take {}: ", missing->batch,
      missing->devices, human_time(missing->step), missing->batch / missing->devices,
      human_time(missing->alone));
  if (is_disturbed(ours) || is_disturbed(single)) {
    return text + "other programs used the cores, so no cause is named.";
  }
  text += equal ? "no time is missing. " : missing_line(*missing) + ". ";
  const double share = parallel_share(single.train), reached = missing->speedup();
  const double predicted = predicted_speedup(share, missing->devices);
  const double hundredths = std::round(100 * reached) - std::round(100 * predicted);
  text += fmt::format(
      "That is {:.2f}x as many images per second; the proportions predict {:.2f}x "
      "(forward and backward are {:.1f} % of one device's step)",
      reached, predicted, 100 * share);
  if (hundredths == 0) return text + ".";
  return text + fmt::format("; the run is {:.2f}x {} that.", std::abs(hundredths) / 100,
                            hundredths < 0 ? "below" : "above");
}

}  // namespace lockstep::tracer
