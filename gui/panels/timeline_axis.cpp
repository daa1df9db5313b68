// The axis: ticks at intervals of 1, 2 or 5 times a power of ten, relative to the start
// of the step or the trace.
#include <fmt/format.h>

#include <cmath>

#include "base/units.h"
#include "gui/panels/timeline_parts.h"

namespace lockstep::gui {

namespace {

struct Ticks {
  int64_t step = 1;        ///< interval in ns
  int64_t first = 0;       ///< ns, absolute
  int64_t origin = 0;      ///< ns; labels are relative to it
  bool is_offset = false;  ///< labels are relative to an offset: "+20 ns"
};

constexpr double kTickRoom = 84;       ///< minimum width of a label in points
constexpr int64_t kMaxLabel = 20'000;  ///< larger tick numbers make unreadable labels

int64_t tick_step(double wanted) {
  double power = 1;
  while (power * 10 <= wanted) power *= 10;
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (power * factor >= wanted) return static_cast<int64_t>(power * factor);
  }
  return static_cast<int64_t>(power * 10);
}

int64_t floor_to(int64_t value, int64_t step) {
  const int64_t rest = value % step;
  return value - (rest < 0 ? rest + step : rest);
}

Ticks ticks_of(const TimelineFrame& frame) {
  const Scale scale = frame.scale();
  Ticks ticks;
  ticks.step = tick_step(std::max(1.0, kTickRoom * scale.per_point()));
  ticks.origin = origin_of(frame).ns;
  const auto from = static_cast<int64_t>(std::floor(scale.from)) - ticks.origin;
  if (std::abs(from) / ticks.step > kMaxLabel) {
    ticks.origin += floor_to(from, ticks.step * 1000);
    ticks.is_offset = true;
  }
  ticks.first = ticks.origin +
                floor_to(static_cast<int64_t>(scale.from) - ticks.origin, ticks.step);
  return ticks;
}

std::string tick_label(int64_t ns, int64_t step) {
  if (step >= 1'000'000'000) return grouped(ns / 1'000'000'000) + " s";
  if (step >= 1'000'000) return grouped(ns / 1'000'000) + " ms";
  if (step >= 1'000) return grouped(ns / 1'000) + " µs";
  return grouped(ns) + " ns";
}

}  // namespace

std::string grouped(int64_t value) {
  std::string digits = std::to_string(std::abs(value));
  for (auto at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3) {
    digits.insert(static_cast<size_t>(at), 1, ',');
  }
  return (value < 0 ? "−" : "") + digits;
}

std::string exact_time(int64_t ns) {
  const char* sign = ns < 0 ? "−" : "";
  ns = std::abs(ns);
  if (ns >= 1'000'000'000) {
    return fmt::format("{}{:.6f} s", sign, static_cast<double>(ns) * 1e-9);
  }
  if (ns >= 1'000'000) {
    return fmt::format("{}{:.3f} ms", sign, static_cast<double>(ns) * 1e-6);
  }
  if (ns >= 1'000)
    return fmt::format("{}{:.3f} µs", sign, static_cast<double>(ns) * 1e-3);
  return fmt::format("{}{} ns", sign, ns);
}

Origin origin_of(const TimelineFrame& frame) {
  const Step& step = frame.model.steps[frame.trace.state.step];
  const double length = frame.view.to - frame.view.from;
  const bool near = frame.view.from >= static_cast<double>(step.begin) - length &&
                    frame.view.from <= static_cast<double>(step.end) + length &&
                    length < 3.0 * static_cast<double>(step.end - step.begin + 1);
  if (step.event == kNoEvent || !near) return {0, "the trace"};
  return {step.begin, fmt::format("step {}", step.number)};
}

std::string axis_note(const TimelineFrame& frame) {
  const Origin origin = origin_of(frame);
  const auto from = static_cast<int64_t>(std::max(0.0, frame.view.from));
  const int64_t to =
      std::min(frame.model.length, static_cast<int64_t>(std::max(0.0, frame.view.to)));
  const auto& events = frame.model.events;
  const auto begin_before = [](const Event& e, int64_t t) { return e.ts < t; };
  const auto first = std::lower_bound(events.begin(), events.end(), from, begin_before);
  const auto last = std::lower_bound(first, events.end(), to + 1, begin_before);
  const auto time = [&](int64_t ns) {
    const bool close = (to - from) * 100 < std::abs(ns - origin.ns);
    return close ? exact_time(ns - origin.ns) : human_time(ns - origin.ns);
  };
  return fmt::format("{} – {} of {} · {} event{}{}", time(from), time(to), origin.name,
                     grouped(last - first), last - first == 1 ? "" : "s",
                     frame.view.follow ? "" : " · not following (f)");
}

void draw_grid(const TimelineFrame& frame) {
  const Theme& theme = frame.ui.theme;
  const Scale scale = frame.scale();
  const Ticks ticks = ticks_of(frame);
  const auto line = [&](double ns, ImU32 colour) {
    const float x = std::round(scale.at(ns));
    if (x < frame.plot.x || x >= frame.plot.right()) return;
    frame.ui.fill({x, frame.plot.y, 1, frame.plot.h}, colour);
    frame.count(1);
  };
  for (int64_t at = ticks.first; static_cast<double>(at) <= scale.to;
       at += ticks.step) {
    line(static_cast<double>(at), with_alpha(theme.line, 0.5f));
  }
  // Draw step boundaries if there is room between them.
  const auto& steps = frame.model.steps;
  const size_t first = frame.model.step_at(static_cast<int64_t>(scale.from));
  float last = -1e5f;
  for (size_t i = first; i < steps.size(); ++i) {
    if (static_cast<double>(steps[i].begin) > scale.to || steps[i].event == kNoEvent)
      break;
    const float x = scale.at(static_cast<double>(steps[i].begin));
    if (x - last < 12) return;
    line(static_cast<double>(steps[i].begin), with_alpha(theme.faint, 0.55f));
    last = x;
  }
}

void draw_axis(const TimelineFrame& frame) {
  const Ui& ui = frame.ui;
  const Scale scale = frame.scale();
  const Ticks ticks = ticks_of(frame);
  const float y = frame.axis.y + (frame.axis.h - ui.line_height(Type::small)) / 2;
  constexpr float kHead = 8;  // half the width of the playhead's mark, with a margin
  const float now = scale.at(static_cast<double>(frame.trace.state.now));
  for (int64_t at = ticks.first; static_cast<double>(at) <= scale.to;
       at += ticks.step) {
    const float x = scale.at(static_cast<double>(at));
    float begin = x + 4;
    std::string label = tick_label(at - ticks.origin, ticks.step);
    if (ticks.is_offset) label = "+" + label;
    const float wide = ui.width(Type::small, label);
    // The playhead's mark covers a label: it moves aside, or makes room for it.
    const bool hidden = now + kHead > begin && now - kHead < begin + wide;
    if (hidden && now <= begin + kHead) begin = now + kHead + 2;
    const bool fits = x >= frame.plot.x - 0.5f && begin + wide <= frame.plot.right();
    if (!fits) continue;
    if (!hidden || now + kHead < begin) {
      ui.text(begin, y, Type::small, ui.theme.faint, label);
    }
    ui.fill({std::round(x), frame.axis.bottom() - 5, 1, 5}, ui.theme.line);
    frame.count(2);
  }
  const Origin origin = origin_of(frame);
  const std::string from = ticks.is_offset ? exact_time(ticks.origin - origin.ns) + " +"
                                           : "since " + origin.name;
  const float wide = ui.width(Type::small, from);
  ui.text_cut(std::max(frame.labels.x, frame.labels.right() - 10 - wide), y,
              frame.labels.w - 6, Type::small, ui.theme.faint, from);
  frame.count(1);
}

}  // namespace lockstep::gui
