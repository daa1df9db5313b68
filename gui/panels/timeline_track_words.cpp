// What tracks say: labels, the text below the mouse, and where a click goes.
#include <fmt/format.h>

#include <cmath>

#include "base/units.h"
#include "gui/panels/stage_parts.h"
#include "gui/panels/timeline_tracks.h"
#include "gui/panels/widgets.h"

namespace lockstep::gui {

namespace {

using Track = Strip::Track;

constexpr float kNearPeak = 6;   ///< points from the mark of the peak
constexpr float kTwoLines = 27;  ///< least height of a track with two lines of label

/// Returns the point that the mouse means: the peak if it is near its mark.
size_t point_below(const TimelineFrame& frame, const MemorySeries& series, float x) {
  const Scale scale = frame.scale();
  if (std::abs(peak_x(series, scale) - x) <= kNearPeak) return series.peak();
  const float column = std::floor((x - frame.plot.x) / kTrackColumn);
  return point_of(series, scale, frame.plot.x + column * kTrackColumn);
}

std::string since(const TimelineFrame& frame, const MemorySeries& series,
                  size_t point) {
  if (point == 0) return "since the beginning of the trace";
  const Origin origin = origin_of(frame);
  return fmt::format("since {} of {}", exact_time(series.when(point) - origin.ns),
                     origin.name);
}

std::vector<std::string> memory_lines(const TimelineFrame& frame, const Strip& strip,
                                      float x) {
  const size_t device = device_of(frame, strip);
  const MemorySeries& series = memory_of(frame, device);
  const bool queued = frame.trace.state.devices[device].as_queued;
  const size_t point = point_below(frame, series, x);
  const Memory memory = series.at(point);
  std::vector<std::string> lines;
  lines.push_back(fmt::format("{}: {}{}{}",
                              device_label(frame.model, static_cast<int>(device)),
                              human_bytes(memory.total()), queued ? " as queued" : "",
                              point == series.peak() ? ", its peak" : ""));
  for (const size_t i : by_size(memory)) {
    lines.push_back(fmt::format("{} {}", human_bytes(memory.bytes[i]),
                                tracer::memory_categories[i]));
  }
  lines.push_back(since(frame, series, point));
  const Growth growth = growth_at(frame.model, device, series, point, queued);
  if (growth.bytes == 0) return lines;
  lines.back() += fmt::format(": {} of {} more", human_bytes(growth.bytes),
                              tracer::memory_categories[growth.category]);
  lines.push_back(growth.op == kNoEvent
                      ? "for an op that the trace does not name"
                      : "for " + frame.model.name_of(frame.model.events[growth.op]) +
                            " · click to go there");
  return lines;
}

/// Returns an axis from 0 to a round rate, without decimals: "0–5 GB/s".
std::string axis_text(double bytes_per_second) {
  std::string end = rate_text(bytes_per_second);
  const size_t unit = end.find(' ');
  if (const size_t point = end.find('.'); point < unit) end.erase(point, unit - point);
  return "0–" + end;
}

}  // namespace

std::string rate_text(double bytes_per_second) {
  return human_bytes(std::llround(bytes_per_second)) + "/s";
}

void draw_track_label(const TimelineFrame& frame, const Strip& strip, float y) {
  if (frame.cache.tracks == nullptr) return;
  const Ui& ui = frame.ui;
  const Theme& theme = ui.theme;
  const float left = frame.labels.x, right = frame.labels.right() - 10;
  const float line = ui.line_height(Type::small);
  const float middle = y + (strip.row_height - line) / 2;
  const auto both = [&](const std::string& name, const std::string& amount) {
    const float wide = ui.width(Type::small, amount);
    ui.text_right(right, middle, Type::small, theme.faint, amount);
    ui.text_cut(left + 10, middle, right - left - 14 - wide, Type::small, theme.dim,
                name);
  };
  frame.count(2);
  if (strip.track == Track::busy) {
    return both("busy", fmt::format("0–{} dev", frame.model.devices.size()));
  }
  if (strip.track == Track::port) {
    return both("out, in", axis_text(frame.cache.port_scale));
  }
  const size_t device = device_of(frame, strip);
  const MemorySeries& series = memory_of(frame, device);
  const DeviceState& state = frame.trace.state.devices[device];
  const std::string peak = human_bytes(series.total(series.peak()));
  if (strip.row_height < kTwoLines) {
    return both(state.as_queued ? "queued" : "memory", peak);
  }
  ui.text_cut(left + 10, middle - line / 2, right - left - 10, Type::small, theme.dim,
              memory_label(state));
  ui.text_cut(left + 10, middle + line / 2, right - left - 10, Type::small, theme.faint,
              "peak " + peak);
}

const Strip* track_at(const TimelineFrame& frame, ImVec2 point) {
  uint32_t depth = 0;
  const Strip* strip = strip_at(frame, point, depth);
  const bool is_track = strip != nullptr && strip->role == Strip::Role::track &&
                        frame.cache.tracks != nullptr;
  return is_track ? strip : nullptr;
}

std::vector<std::string> track_lines(const TimelineFrame& frame, const Strip& strip,
                                     float x) {
  if (strip.track == Track::memory) return memory_lines(frame, strip, x);
  const Scale scale = frame.scale();
  const auto [begin, end] = column_at(scale, x);
  std::vector<std::string> lines;
  const Origin origin = origin_of(frame);
  const std::string at =
      fmt::format("at {} of {}, mean of {}", exact_time(begin - origin.ns), origin.name,
                  human_time(end - begin));
  if (strip.track == Track::busy) {
    return {fmt::format("{:.1f} of {} devices run a kernel",
                        frame.cache.tracks->busy->mean(begin, end),
                        frame.model.devices.size()),
            at};
  }
  const size_t device = device_of(frame, strip);
  const PortSeries& port = frame.cache.tracks->ports[device];
  return {device_label(frame.model, static_cast<int>(device)) + ": port",
          "out " + rate_text(port.out.rate(begin, end)),
          "in " + rate_text(port.in.rate(begin, end)), at};
}

uint32_t op_at_track(const TimelineFrame& frame, const Strip& strip, float x) {
  if (strip.track != Track::memory) return kNoEvent;
  const size_t device = device_of(frame, strip);
  const MemorySeries& series = memory_of(frame, device);
  return growth_at(frame.model, device, series, point_below(frame, series, x),
                   frame.trace.state.devices[device].as_queued)
      .op;
}

}  // namespace lockstep::gui
