#include "run/auto_split.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "run/environment.h"

namespace lockstep::run {
namespace {

using parallel::PartProfile;

int64_t total(const PartProfile& part) { return part.forward_ns + part.backward_ns; }

plan::PartCosts costs_of(const std::vector<PartProfile>& parts) {
  plan::PartCosts costs;
  for (const PartProfile& part : parts) {
    costs.times.push_back(total(part));
    costs.bytes.push_back(part.output_bytes);
  }
  return costs;
}

/// Returns `layer2` for `layer2.0`, unless another cut is inside layer2.
std::string shortened(std::string name, const std::vector<std::string>& cuts) {
  constexpr std::string_view kFirst = ".0";
  const std::string whole = name;
  while (name.ends_with(kFirst)) {
    const std::string outer = name.substr(0, name.size() - kFirst.size());
    const bool alone = std::none_of(cuts.begin(), cuts.end(), [&](const auto& cut) {
      return cut != whole && cut.starts_with(outer + ".");
    });
    if (!alone) break;
    name = outer;
  }
  return name;
}

/// The parts from `first` to `end` − 1.
std::string describe_stage(const std::vector<PartProfile>& parts, size_t stage,
                           size_t first, size_t end) {
  int64_t forward = 0, backward = 0;
  for (size_t i = first; i < end; ++i) {
    forward += parts[i].forward_ns;
    backward += parts[i].backward_ns;
  }
  std::string text = fmt::format("=>   stage {}: {}", stage, parts[first].name);
  if (end - first > 1) text += " to " + parts[end - 1].name;
  text += fmt::format(": {} (forward {}, backward {})", human_time(forward + backward),
                      human_time(forward), human_time(backward));
  if (end == parts.size()) return text;
  return text + fmt::format("; sends {}", human_bytes(parts[end - 1].output_bytes));
}

}  // namespace

AutoSplit choose_split(std::vector<PartProfile> parts, int stages) {
  const auto count = static_cast<int>(parts.size());
  if (count < stages) {
    throw UsageError(
        fmt::format("--split auto: {} stages need as many parts, but the model has {}; "
                    "fix: use fewer --devices or --virtual-stages",
                    stages, count));
  }
  const plan::Split split = plan::best_split(costs_of(parts), stages);
  return {std::move(parts), split};
}

std::string AutoSplit::flag() const {
  std::vector<std::string> cuts;
  for (const size_t cut : split.cuts) cuts.push_back(parts[cut].name);
  std::string text;
  for (const std::string& cut : cuts) {
    text += (text.empty() ? "" : ",") + shortened(cut, cuts);
  }
  return text;
}

std::string AutoSplit::report(TimesFrom from) const {
  const auto times = plan::stage_times(costs_of(parts), split.cuts);
  const bool recorded = from == TimesFrom::recorded_step;
  std::string text = fmt::format(
      fmt::runtime(recorded ? "=> split auto: {} parts, with the kernels that the "
                              "recorded step has for one micro-batch\n"
                            : "=> split auto: measured {} parts alone on one device, "
                              "with one micro-batch\n"),
      parts.size());
  int64_t whole = 0;
  size_t first = 0;
  for (size_t stage = 0; stage < times.size(); ++stage) {
    const size_t end = stage < split.cuts.size() ? split.cuts[stage] : parts.size();
    text += describe_stage(parts, stage, first, end) + "\n";
    first = end;
    whole += times[stage];
  }
  const auto slowest = std::max_element(times.begin(), times.end());
  text += fmt::format(
      "=> no other split has a faster slowest stage: stage {} with {}, where equal "
      "stages would take {}\n",
      slowest - times.begin(), human_time(split.slowest),
      human_time(whole / static_cast<int64_t>(times.size())));
  text += fmt::format(
      "=> nor, with that, fewer bytes at the cuts: {} per micro-batch, and as many "
      "back\n",
      human_bytes(split.bytes));
  return text +
         (recorded ? "=> to use it again: --split "
                   : "=> times differ from run to run, and so may the split; to "
                     "use it again: --split ") +
         flag() + "\n";
}

}  // namespace lockstep::run
