// The tracks: the memory of each device, how many devices run a kernel, and the bytes
// per second through each port. One column of three points shows the most memory or the
// mean of the others in its time.
#include <fmt/format.h>

#include <array>
#include <cmath>

#include "base/units.h"
#include "gui/model/memory.h"
#include "gui/panels/timeline_tracks.h"

namespace lockstep::gui {

namespace {

using Track = Strip::Track;

int64_t most_memory(const TimelineFrame& frame, size_t device) {
  return frame.cache.tracks->most_memory[frame.trace.state.devices[device].as_queued];
}

/// Returns when each column begins, and when the last one ends.
std::vector<int64_t> column_times(const TimelineFrame& frame) {
  const Scale scale = frame.scale();
  std::vector<int64_t> times;
  float x = frame.plot.x;
  for (; x < frame.plot.right(); x += kTrackColumn) {
    times.push_back(column_at(scale, x).first);
  }
  times.push_back(column_at(scale, x).first);
  return times;
}

/// Rectangles side by side that have the same height are drawn as one.
struct Run {
  float x = 0, top = 0, bottom = 0;
};

class MemoryPainter {
 public:
  MemoryPainter(const TimelineFrame& frame, const Strip& strip)
      : f_(frame),
        series_(memory_of(frame, device_of(frame, strip))),
        y_(frame.top_of(strip)),
        height_(strip.row_height),
        per_byte_((height_ - 3) /
                  static_cast<float>(most_memory(frame, device_of(frame, strip)))) {}

  void paint() {
    const float end = f_.plot.right();
    const std::vector<size_t> points = series_.largest_between(column_times(f_));
    const std::vector<Memory> memory = series_.at_each(points);
    for (size_t i = 0; i < points.size(); ++i) {
      if (i > 0 && points[i] == points[i - 1]) continue;
      stack(f_.plot.x + kTrackColumn * static_cast<float>(i), memory[i]);
    }
    for (size_t i = 0; i < runs_.size(); ++i) close(i, end);
    const float x = peak_x(series_, f_.scale());
    if (x < f_.plot.x || x > end) return;
    const float top = bottom() - high(series_.total(series_.peak()));
    f_.ui.list->AddTriangleFilled({x - 4, top - 2}, {x + 4, top - 2}, {x, top + 4},
                                  f_.ui.theme.text);
    f_.count(1);
  }

 private:
  float bottom() const { return y_ + height_; }
  /// Leaves room above for the mark of the peak. In whole points, so that neighbours
  /// often have the same height and are drawn as one.
  float high(int64_t bytes) const {
    return static_cast<float>(
        static_cast<int>(static_cast<float>(bytes) * per_byte_ + 0.5f));
  }

  void stack(float x, const Memory& memory) {
    int64_t below = 0;
    float from = bottom();
    for (size_t i = 0; i < runs_.size(); ++i) {
      Run& run = runs_[i];
      if (memory.bytes[i] == 0 && run.top == run.bottom) continue;
      below += memory.bytes[i];
      const float to = bottom() - high(below);
      if (run.top != to || run.bottom != from) {
        close(i, x);
        run = {x, to, from};
      }
      from = to;
    }
  }

  void close(size_t category, float x) {
    const Run& run = runs_[category];
    if (run.bottom - run.top < 0.5f || x <= run.x) return;
    f_.ui.fill({run.x, run.top, x - run.x, run.bottom - run.top},
               memory_colour(f_.ui.theme, category));
    f_.count(1);
  }

  const TimelineFrame& f_;
  const MemorySeries& series_;
  const float y_, height_, per_byte_;
  std::array<Run, std::size(tracer::memory_categories)> runs_{};
};

ImU32 neutral(const Theme& theme) { return mixed(theme.panel, theme.text, 0.55f); }

/// Draws columns of the given heights, upward from `base` or downward.
void draw_heights(const TimelineFrame& frame, const std::vector<float>& heights,
                  float base, bool up, ImU32 colour) {
  for (size_t i = 0; i < heights.size();) {
    const size_t from = i;
    while (i < heights.size() && heights[i] == heights[from]) ++i;
    if (heights[from] <= 0) continue;
    const float x = frame.plot.x + kTrackColumn * static_cast<float>(from);
    const float wide =
        std::min(kTrackColumn * static_cast<float>(i - from), frame.plot.right() - x);
    frame.ui.fill({x, up ? base - heights[from] : base, wide, heights[from]}, colour);
    frame.count(1);
  }
}

/// Returns the mean of a quantity in each column: `sums` returns its integral until
/// each of many times.
template <typename Sums>
std::vector<float> means_of(const TimelineFrame& frame, const Sums& sums) {
  const std::vector<int64_t> times = column_times(frame);
  const std::vector<double> by = sums(times);
  std::vector<float> means;
  for (size_t i = 0; i + 1 < times.size(); ++i) {
    const int64_t end = std::max(times[i + 1], times[i] + 1);
    const double until =
        end == times[i + 1] ? by[i + 1] : sums(std::span(&end, 1)).front();
    const auto length = static_cast<double>(end - times[i]);
    means.push_back(static_cast<float>((until - by[i]) / length));
  }
  return means;
}

/// Turns shares into heights, in half points; anything above 0 can be seen.
std::vector<float> as_heights(std::vector<float> shares, float height) {
  for (float& share : shares) {
    const float high = std::round(2 * std::min(1.0f, share) * height) / 2;
    share = share > 0 ? std::max(high, 0.5f) : 0;
  }
  return shares;
}

void draw_busy(const TimelineFrame& frame, const Strip& strip) {
  const BusySeries& busy = *frame.cache.tracks->busy;
  const auto devices = static_cast<float>(frame.model.devices.size());
  std::vector<float> shares = means_of(
      frame, [&](std::span<const int64_t> times) { return busy.device_times(times); });
  for (float& share : shares) share /= devices;
  draw_heights(frame, as_heights(std::move(shares), strip.row_height - 1),
               frame.top_of(strip) + strip.row_height, true, neutral(frame.ui.theme));
}

struct PortColumns {
  const Strip* strip;
  std::vector<float> out, in;  ///< bytes per second
};

PortColumns port_columns(const TimelineFrame& frame, const Strip& strip) {
  const PortSeries& port = frame.cache.tracks->ports[device_of(frame, strip)];
  const auto rates = [&](const RateSeries& series) {
    if (series.empty()) return std::vector<float>();
    std::vector<float> rates = means_of(frame, [&](std::span<const int64_t> times) {
      return series.bytes_each(times);
    });
    for (float& rate : rates) rate = rate > 1e-9f ? rate * 1e9f : 0;  // below: rounding
    return rates;
  };
  return {&strip, rates(port.out), rates(port.in)};
}

/// Returns 1, 2 or 5 times a power of ten, at least `value`.
double round_up(double value) {
  double power = 1;
  while (power * 10 <= value) power *= 10;
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (power * factor >= value) return power * factor;
  }
  return power * 10;
}

/// Draws the ports in sight with a common scale: what leaves a device above the middle,
/// what arrives below.
void draw_ports_in_sight(const TimelineFrame& frame,
                         const std::vector<PortColumns>& ports) {
  float most = 1;
  for (const PortColumns& port : ports) {
    for (const float rate : port.out) most = std::max(most, rate);
    for (const float rate : port.in) most = std::max(most, rate);
  }
  frame.cache.port_scale = round_up(static_cast<double>(most));
  const auto scale = static_cast<float>(frame.cache.port_scale);
  const Theme& theme = frame.ui.theme;
  for (const PortColumns& port : ports) {
    const float half = std::floor(port.strip->row_height / 2);
    const float middle = frame.top_of(*port.strip) + half;
    for (const bool out : {true, false}) {
      std::vector<float> shares = out ? port.out : port.in;
      for (float& share : shares) share /= scale;
      draw_heights(frame, as_heights(std::move(shares), half - 1), middle, out,
                   out ? neutral(theme) : mixed(theme.panel, theme.text, 0.38f));
    }
    frame.ui.fill({frame.plot.x, middle, frame.plot.w, 0.5f},
                  with_alpha(theme.faint, 0.6f));
    frame.count(1);
  }
}

}  // namespace

size_t device_of(const TimelineFrame& frame, const Strip& strip) {
  return static_cast<size_t>(frame.model.lanes[strip.lane].device);
}

std::pair<int64_t, int64_t> column_at(const Scale& scale, float x) {
  const auto begin = static_cast<int64_t>(std::floor(scale.ns(x)));
  const auto end = static_cast<int64_t>(std::floor(scale.ns(x + kTrackColumn)));
  return {begin, std::max(end, begin + 1)};
}

const MemorySeries& memory_of(const TimelineFrame& frame, size_t device) {
  const bool queued = frame.trace.state.devices[device].as_queued;
  return frame.cache.tracks->memory[queued][device];
}

size_t point_of(const MemorySeries& series, const Scale& scale, float x) {
  const auto [begin, end] = column_at(scale, x);
  const size_t first = series.point_at(begin);
  size_t last = first;
  if (first + 1 < series.size() && series.when(first + 1) < end) {
    last = series.point_at(end - 1);
  }
  return series.largest(first, last);
}

float peak_x(const MemorySeries& series, const Scale& scale) {
  const int64_t when = std::max<int64_t>(0, series.when(series.peak()));
  return std::round(scale.at(static_cast<double>(when)));
}

void prepare_tracks(TimelineFrame& frame) {
  if (!frame.app.settings.tracks) return;
  const Model& model = frame.model;
  std::shared_ptr<TrackSeries>& tracks = frame.cache.tracks;
  if (tracks == nullptr) {
    tracks = std::make_shared<TrackSeries>();
    if (model.has_device_times()) {
      tracks->busy = std::make_unique<BusySeries>(model);
      tracks->ports = port_series(model);
    }
    for (auto& series : tracks->memory) series.resize(model.devices.size());
  }
  for (size_t i = 0; i < model.devices.size(); ++i) {
    const bool queued = frame.trace.state.devices[i].as_queued;
    MemorySeries& series = tracks->memory[queued][i];
    if (!series.empty() || model.devices[i].memory.empty()) continue;
    series = memory_series(model, model.devices[i], queued);
    int64_t& most = tracks->most_memory[queued];
    most = std::max(most, series.total(series.peak()));
  }
}

void draw_tracks(const TimelineFrame& frame) {
  if (frame.cache.tracks == nullptr || !frame.app.settings.tracks) return;
  frame.ui.list->PushClipRect(frame.plot.min(), frame.plot.max(), true);
  const auto [first, last] =
      frame.cache.layout.between(frame.top, frame.top + frame.plot.h);
  std::vector<PortColumns> ports;
  for (size_t i = first; i < last; ++i) {
    const Strip& strip = frame.cache.layout.strips[i];
    if (strip.role != Strip::Role::track) continue;
    frame.ui.fill({frame.plot.x, frame.top_of(strip), frame.plot.w, strip.row_height},
                  with_alpha(frame.ui.theme.sunken, 0.55f));
    frame.count(1);
    if (strip.track == Track::busy) draw_busy(frame, strip);
    if (strip.track == Track::memory) MemoryPainter(frame, strip).paint();
    if (strip.track == Track::port) ports.push_back(port_columns(frame, strip));
  }
  if (!ports.empty()) draw_ports_in_sight(frame, ports);
  frame.ui.list->PopClipRect();
}

Rect tracks_switch(const Ui& ui, const Rect& area) {
  const float x = area.x + 27 + ui.width(Type::small, "TIMELINE");
  return {x, area.y + 6, ui.width(Type::small, "tracks") + 16, 20};
}

float draw_tracks_switch(const TimelineFrame& frame) {
  const Ui& ui = frame.ui;
  const Theme& theme = ui.theme;
  const Rect& r = frame.toggle;
  const bool hovered = frame.hovered && r.contains(frame.mouse);
  const bool on = frame.app.settings.tracks;
  ui.fill(r, on ? theme.accent_background : theme.panel, 5);
  ui.frame(r, on ? with_alpha(theme.accent, 0.7f) : theme.line, 5);
  const ImU32 ground = on ? theme.accent_background : theme.panel;
  ui.text_centred(r, Type::small,
                  readable(on        ? theme.accent
                           : hovered ? theme.text
                                     : theme.dim,
                           ground),
                  "tracks");
  frame.count(3);
  return r.right();
}

}  // namespace lockstep::gui
