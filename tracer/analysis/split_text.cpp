// The split of a step as text, and in machine-readable form.
#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "tracer/analysis/split.h"
#include "tracer/format/args.h"

namespace lockstep::tracer {

namespace {

constexpr const char* kSplitLegend =
    "  Each moment of each device is in one class, so the times add up. A device that "
    "does nothing\n  is in the class of what it waits for; imbalance: for another "
    "device that computes, or for\n  another rank; host: nothing is launched for it; "
    "wake-ups: "
    "nothing more was awaited.\n";

}  // namespace

std::string text_bar(double share) {
  static const char* const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const int filled = static_cast<int>(std::clamp(share, 0.0, 1.0) * 24 * 8 + 0.5);
  std::string text;
  for (int i = 0; i < filled / 8; ++i) text += "█";
  return text + eighths[filled % 8];
}

std::string split_title(const Split& split) {
  return fmt::format("{} device{} x {} = {}", split.devices.size(),
                     split.devices.size() == 1 ? "" : "s", human_time(split.step),
                     human_time(split.spent.sum()));
}

std::string split_text(const Split& split) {
  const int64_t whole = split.spent.sum();
  if (!split.known || whole <= 0) return {};
  std::string text = fmt::format("\n  {}, of which\n", split_title(split));
  for (size_t i = 0; i < kSpents; ++i) {
    const int64_t time = split.spent.times[i];
    if (time == 0) continue;
    const double share = static_cast<double>(time) / static_cast<double>(whole);
    text +=
        fmt::format("  {:<24}{:>10}{:>6}  {}\n", words_of(static_cast<Spent>(i)).name,
                    human_time(time), percent(share), text_bar(share));
  }
  text += kSplitLegend;
  if (split.spent[Spent::undivided] > 0) {
    text +=
        "  collectives or imbalance: no conclusion, since the times of their messages "
        "were not\n  recorded: the device transfers, or waits for another rank.\n";
  }
  return text;
}

Json split_json(const Split& split) {
  if (!split.known) return {};
  const auto classes = [](const SpentTimes& spent) {
    Json json = Json::object();
    for (size_t i = 0; i < kSpents; ++i) {
      json[words_of(static_cast<Spent>(i)).name] = spent.times[i];
    }
    return json;
  };
  Json devices = Json::array();
  for (const DeviceSplit& device : split.devices) {
    devices.push_back({{"rank", device.rank},
                       {"device", device.device},
                       {"nanoseconds", classes(device.spent)}});
  }
  return {{"step_nanoseconds", split.step},
          {"nanoseconds", classes(split.spent)},
          {"devices", devices}};
}

}  // namespace lockstep::tracer
