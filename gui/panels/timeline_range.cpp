// The selected time range and what ran in it; the drawer shows the statistics.
#include <fmt/format.h>

#include <cmath>

#include "base/units.h"
#include "gui/panels/panels.h"
#include "gui/panels/timeline_parts.h"
#include "gui/panels/widgets.h"

namespace lockstep::gui {

namespace {

constexpr size_t kMaxSampled =
    12'000;                          ///< kernels examined for the list of the longest
constexpr size_t kMaxStreams = 256;  ///< compute streams examined
constexpr size_t kMaxDevices = 4;    ///< devices that get a separate line

size_t events_between(const Model& model, int64_t t0, int64_t t1) {
  const auto before = [](const Event& e, int64_t t) { return e.ts < t; };
  const auto first =
      std::lower_bound(model.events.begin(), model.events.end(), t0, before);
  return static_cast<size_t>(std::lower_bound(first, model.events.end(), t1, before) -
                             first);
}

/// Returns the number of bytes that arrived in the range.
int64_t bytes_between(const Model& model, int64_t t0, int64_t t1) {
  int64_t sum = 0;
  for (const Port& port : model.ports) {
    const auto until = [&](int64_t t) {
      const auto after = std::upper_bound(
          port.points.begin(), port.points.end(), t,
          [](int64_t value, const Port::Point& point) { return value < point.ts; });
      return after == port.points.begin() ? 0 : (after - 1)->in;
    };
    sum += until(t1) - until(t0);
  }
  return sum;
}

/// Returns the streams on which kernels run, at most the first kMaxStreams.
std::vector<uint32_t> compute_lanes(const Model& model) {
  std::vector<uint32_t> lanes;
  for (uint32_t i = 0; i < model.lanes.size() && lanes.size() < kMaxStreams; ++i) {
    const Lane& lane = model.lanes[i];
    if (!lane.is_host() && lane.stream <= 0) lanes.push_back(i);
  }
  return lanes;
}

struct Kernels {
  std::vector<std::pair<double, uint32_t>> by_time;  ///< (ns, name), longest first
  bool sampled = false;
};

/// Examines every kernel in the range if there are few, otherwise an even sample.
Kernels longest_kernels(const Model& model, const Lod& lod, int64_t t0, int64_t t1) {
  Kernels kernels;
  std::vector<std::span<const uint32_t>> parts;
  size_t total = 0;
  for (const uint32_t i : compute_lanes(model)) {
    const auto row = lod.row(i, 0);
    const auto ends = [&](uint32_t e, int64_t t) { return model.events[e].end() <= t; };
    const auto begins = [&](uint32_t e, int64_t t) { return model.events[e].ts < t; };
    const auto first = std::lower_bound(row.begin(), row.end(), t0, ends);
    const auto last = std::lower_bound(first, row.end(), t1, begins);
    parts.emplace_back(first, last);
    total += parts.back().size();
  }
  const size_t stride = total / kMaxSampled + 1;
  kernels.sampled = stride > 1;
  std::unordered_map<uint32_t, double> sums;
  for (const auto& part : parts) {
    for (size_t i = 0; i < part.size(); i += stride) {
      const Event& event = model.events[part[i]];
      if (event.what() != Kind::kernel) continue;
      const int64_t ran = std::min(event.end(), t1) - std::max<int64_t>(event.ts, t0);
      sums[event.name] += static_cast<double>(ran) * static_cast<double>(stride);
    }
  }
  for (const auto& [name, sum] : sums) kernels.by_time.emplace_back(sum, name);
  std::sort(kernels.by_time.begin(), kernels.by_time.end(), std::greater<>());
  return kernels;
}

void add_busy(const Model& model, const Lod& lod, int64_t t0, int64_t t1,
              std::vector<std::string>& lines) {
  const auto length = static_cast<double>(t1 - t0);
  std::vector<double> busy(model.devices.size(), 0);
  const std::vector<uint32_t> lanes = compute_lanes(model);
  for (const uint32_t i : lanes) {
    double& most = busy[model.lanes[i].device];
    most = std::max(most, lod.busy(model, i, 0, t0, t1));
  }
  for (size_t i = 0; i < std::min(busy.size(), kMaxDevices); ++i) {
    lines.push_back(fmt::format("{} busy\t{}", device_label(model, static_cast<int>(i)),
                                percent(busy[i] / length)));
  }
  if (busy.size() > kMaxDevices) {
    double rest = 0;
    for (size_t i = kMaxDevices; i < busy.size(); ++i) rest += busy[i];
    const auto others = static_cast<double>(busy.size() - kMaxDevices);
    lines.push_back(fmt::format("{} more, mean\t{}{}", busy.size() - kMaxDevices,
                                percent(rest / others / length),
                                lanes.size() == kMaxStreams ? " …" : ""));
  }
}

}  // namespace

std::vector<std::string> range_lines(const Model& model, const Lod& lod, int64_t t0,
                                     int64_t t1) {
  std::vector<std::string> lines;
  lines.push_back(
      fmt::format("{}\t{} events", human_time(t1 - t0),
                  grouped(static_cast<int64_t>(events_between(model, t0, t1)))));
  add_busy(model, lod, t0, t1, lines);
  if (const int64_t bytes = bytes_between(model, t0, t1); bytes > 0) {
    lines.push_back("bytes moved\t" + human_bytes(bytes));
  }
  const Kernels kernels = longest_kernels(model, lod, t0, t1);
  for (size_t i = 0; i < std::min<size_t>(3, kernels.by_time.size()); ++i) {
    const auto& [sum, name] = kernels.by_time[i];
    lines.push_back(fmt::format("{}\t{}{}", short_name(model.strings[name]),
                                kernels.sampled ? "≈ " : "",
                                human_time(static_cast<int64_t>(sum))));
  }
  return lines;
}

void draw_selection(const TimelineFrame& frame) {
  const auto [t0, t1] = frame.view.selected;
  if (t0 >= t1) return;
  const Ui& ui = frame.ui;
  const Theme& theme = ui.theme;
  const Scale scale = frame.scale();
  const float left = std::max(scale.at(static_cast<double>(t0)), frame.plot.x);
  const float right = std::min(scale.at(static_cast<double>(t1)), frame.plot.right());
  if (right < frame.plot.x || left > frame.plot.right()) return;
  ui.fill({left, frame.plot.y, right - left, frame.plot.h},
          with_alpha(theme.accent, theme.dark ? 0.14f : 0.18f));
  for (const float x : {left, right - 1}) {
    ui.fill({std::round(x), frame.axis.y, 1, frame.plot.bottom() - frame.axis.y},
            with_alpha(theme.accent, 0.8f));
  }
  frame.count(3);
}

}  // namespace lockstep::gui
