// "Why not 4x?": devices x step time by class, the speed-up, and the longest path.
#include "gui/model/why.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/units.h"
#include "gui/panels/panels.h"
#include "gui/panels/widgets.h"
#include "tracer/analysis/speedup.h"

namespace lockstep::gui {

namespace {

using tracer::Spent;

constexpr float kClassRow = 19;

struct ClassLook {
  ImU32 colour;
  bool hatched;
};

/// Waiting is hatched; work has the colour of its phase.
ClassLook class_look(const Theme& t, Spent spent) {
  switch (spent) {
    case Spent::computing:
      return {phase_colour(t, phases::forward), false};
    case Spent::core:
      return {t.waiting, true};
    case Spent::scatter:
      return {reason_colour(t, reasons::scatter), false};
    case Spent::replicate:
      return {reason_colour(t, reasons::replicate), false};
    case Spent::gather:
      return {reason_colour(t, reasons::gather), false};
    case Spent::reduce:
    case Spent::collectives:
      return {reason_colour(t, reasons::reduce), false};
    case Spent::bucket_copies:
      return {mixed(t.panel, reason_colour(t, reasons::all_reduce), 0.55f), false};
    case Spent::other:
      return {reason_colour(t, reasons::d2h), false};
    case Spent::imbalance:
      return {mixed(t.waiting, t.text, 0.25f), true};
    case Spent::loader:
      return {t.yellow, true};
    case Spent::host:
      return {t.slate, true};
    case Spent::wake_ups:
      return {t.grey, false};
    case Spent::unknown:
      break;
  }
  return {t.line, false};
}

void fill_class(const Ui& ui, const Rect& r, Spent spent) {
  const ClassLook look = class_look(ui.theme, spent);
  if (!look.hatched) return ui.fill(r, look.colour, 1);
  ui.fill(r, ui.theme.sunken, 1);
  ui.hatch(r, look.colour);
  if (r.w > 3) ui.frame(r, with_alpha(look.colour, 0.8f), 1);
}

double share_of(const tracer::SpentTimes& spent, size_t i) {
  const int64_t whole = spent.sum();
  return whole <= 0 ? 0
                    : static_cast<double>(spent.times[i]) / static_cast<double>(whole);
}

std::string tip_of(const tracer::SpentTimes& spent, size_t i) {
  const tracer::SpentWords& words = tracer::words_of(static_cast<Spent>(i));
  return fmt::format("{}: {}, {}. {}", words.name, human_time(spent.times[i]),
                     percent(share_of(spent, i)), words.rule);
}

/// Draws the classes side by side. Returns true if one was clicked.
bool draw_bar(const Ui& ui, const Rect& bar, const tracer::SpentTimes& spent) {
  double before = 0;
  bool clicked = false;
  for (size_t i = 0; i < tracer::kSpents; ++i) {
    const float from = bar.x + bar.w * static_cast<float>(before);
    before += share_of(spent, i);
    const Rect part{from, bar.y, bar.x + bar.w * static_cast<float>(before) - from,
                    bar.h};
    if (part.w >= 0.4f) fill_class(ui, part, static_cast<Spent>(i));
    if (part.w < 1) continue;
    bool hovered = false;
    ImGui::PushID(static_cast<int>(i));
    clicked |= ui.clicked("class", part, &hovered);
    ImGui::PopID();
    if (hovered) ui.tooltip(tip_of(spent, i));
  }
  return clicked;
}

void draw_rows(const Ui& ui, Rect room, const tracer::Split& split,
               const tracer::Split& mean) {
  const Theme& t = ui.theme;
  std::vector<size_t> shown;
  for (size_t i = 0; i < tracer::kSpents; ++i) {
    if (split.spent.times[i] > 0 || mean.spent.times[i] > 0) shown.push_back(i);
  }
  const bool has_mean = mean.known;
  room.h = kClassRow * std::floor(room.h / kClassRow);
  const Scroll scroll(ui, "why", room, kClassRow * static_cast<float>(shown.size()), 0,
                      0);
  const float right = room.right() - 8;
  float y = scroll.top();
  for (const size_t i : shown) {
    const tracer::SpentWords& words = tracer::words_of(static_cast<Spent>(i));
    const Rect row{room.x, y, right - room.x, kClassRow};
    y += kClassRow;
    if (!scroll.shows(row.y, row.h)) continue;
    fill_class(ui, {row.x, row.y + 4, 12, 11}, static_cast<Spent>(i));
    const float text = row.y + (kClassRow - ui.line_height(Type::body)) / 2;
    ui.text(row.x + 20, text, Type::body, t.text, words.name);
    ui.text_right(row.x + 250, text, Type::body, t.text,
                  human_time(split.spent.times[i]));
    ui.text_right(row.x + 300, text, Type::body, t.text,
                  percent(share_of(split.spent, i)));
    float x = row.x + 316;
    if (has_mean) {
      x += 84;
      ui.text_right(x - 14, text, Type::body, t.dim,
                    percent(share_of(mean.spent, i)) + " mean");
    }
    constexpr float kReadable = 180;  // a row's tooltip has the whole rule
    if (right - x > kReadable) {
      ui.text_cut(x, text, right - x, Type::body, t.dim, words.rule);
    }
    bool hovered = false;
    ImGui::PushID(static_cast<int>(i));
    ui.clicked("row", row, &hovered);
    ImGui::PopID();
    if (hovered) ui.tooltip(tip_of(split.spent, i));
  }
}

void draw_devices(const Ui& ui, Rect room, const tracer::Split& split) {
  const float high = std::min(18.0f, room.h / static_cast<float>(split.devices.size()));
  for (size_t d = 0; d < split.devices.size(); ++d) {
    const Rect row = room.take_top(high);
    ui.text(row.x, row.y + (high - ui.line_height(Type::small)) / 2, Type::small,
            ui.theme.dim, fmt::format("dev {}", split.devices[d].device));
    ImGui::PushID(static_cast<int>(d));
    draw_bar(ui, {row.x + 48, row.y + 2, row.w - 48, high - 5}, split.devices[d].spent);
    ImGui::PopID();
  }
}

/// Returns the analysis of another open trace of the same program on one device.
const tracer::Summary* single_of(App& app) {
  for (const OpenTrace& other : app.traces()) {
    if (&other == &app.trace() || other.why == nullptr) continue;
    if (other.why->problem.empty() && other.why->summary.devices == 1) {
      return &other.why->summary;
    }
  }
  return nullptr;
}

std::string path_shares(const std::vector<tracer::PathShare>& shares) {
  int64_t whole = 0;
  for (const tracer::PathShare& share : shares) whole += share.nanoseconds;
  std::string text;
  for (const tracer::PathShare& share : shares) {
    const double part =
        static_cast<double>(share.nanoseconds) / static_cast<double>(whole);
    if (part < 0.005) break;
    text += (text.empty() ? "" : " · ") + share.what + " " + percent(part);
  }
  return text;
}

void draw_path_words(const Ui& ui, Rect room, App& app,
                     const tracer::StepSummary& step) {
  const Theme& t = ui.theme;
  const OpenTrace& trace = app.trace();
  const auto& path = trace.why->paths[trace.state.step];
  ui.list->AddLine({room.x, room.y}, {room.right(), room.y}, t.line);
  room.take_top(7);
  if (path.empty()) {
    ui.text_rich(room, Type::body, Type::strong, t.dim, t.text,
                 trace.why->summary.imported
                     ? "The **longest path** is unknown: an imported trace does not "
                       "record what its streams waited for."
                     : "The **longest path** is unknown.");
    return;
  }
  const Rect head = room.take_top(18);
  ui.text_cut(
      head.x, head.y, head.w, Type::body, t.dim,
      fmt::format("Longest path, {} of the step's {}: {}", human_time(step.path),
                  human_time(step.length), path_shares(step.path_shares)));
  const size_t own = current_segment(trace);
  const PathSegment& segment = path[own];
  ui.text_rich(room, Type::body, Type::strong, t.text, t.accent,
               fmt::format("**{} of {}** · {} · {}", own + 1, path.size(),
                           human_time(segment.time), cause_of(*trace.model, segment)));
}

std::string missing_text(const OpenTrace& trace) {
  if (trace.why == nullptr) return "Computing …";
  if (!trace.why->problem.empty()) return "Unknown: " + trace.why->problem;
  if (!trace.model->has_device_times()) {
    return "Devices of type null compute nothing: their times have no meaning. Bytes "
           "and order are real.";
  }
  return "Unknown: this is no complete training step.";
}

const tracer::StepSummary* why_step(const OpenTrace& trace) {
  if (trace.why == nullptr || !trace.why->problem.empty()) return nullptr;
  const auto* step = trace.why->step(trace.model->steps[trace.state.step].number);
  return step != nullptr && step->split.known && step->split.spent.sum() > 0 ? step
                                                                             : nullptr;
}

}  // namespace

size_t current_segment(const OpenTrace& trace) {
  const auto& path = trace.why->paths[trace.state.step];
  const bool walked = trace.segment_step == trace.state.step &&
                      trace.segment < path.size() &&
                      path[trace.segment].event == trace.state.event;
  return walked ? trace.segment : segment_at(path, trace.state.now);
}

void walk_path(App& app, bool forward) {
  OpenTrace& trace = app.trace();
  if (trace.why == nullptr || trace.why->paths[trace.state.step].empty()) return;
  const auto& path = trace.why->paths[trace.state.step];
  const size_t own = current_segment(trace);
  // From elsewhere, the first press goes to the segment of this moment.
  const bool there = path[own].event == trace.state.event;
  size_t to = own;
  if (there && forward) to = std::min(own + 1, path.size() - 1);
  if (there && !forward) to = own == 0 ? 0 : own - 1;
  app.settings.transport.playing = false;
  app.go(at_event(*trace.model, path[to].event));
  trace.segment = to;
  trace.segment_step = trace.state.step;
}

std::string why_title(const OpenTrace& trace) {
  const size_t devices = trace.model->devices.size();
  return devices > 1 ? fmt::format("WHY NOT {}×?", devices) : "WHERE THE TIME GOES";
}

float why_bar_height(const OpenTrace& trace) {
  return why_step(trace) == nullptr ? 0 : 20;
}

float draw_why_bar(const Ui& ui, const Rect& room, App& app) {
  const tracer::StepSummary* step = why_step(app.trace());
  if (step == nullptr) return 0;
  if (draw_bar(ui, {room.x, room.y, room.w, 12}, step->split.spent)) {
    app.settings.why = !app.settings.why;
  }
  return why_bar_height(app.trace());
}

void draw_why(const Ui& ui, const Rect& area, App& app) {
  const Theme& t = ui.theme;
  const OpenTrace& trace = app.trace();
  const tracer::StepSummary* step = why_step(trace);
  const std::string note = step == nullptr
                               ? "y: back to the stage"
                               : fmt::format("step {} · {}  ·  y: back to the stage",
                                             step->step, split_title(step->split));
  Rect room = ui.card(area, why_title(trace), note);
  room = {room.x + 16, room.y + 10, room.w - 32, room.h - 18};
  if (step == nullptr) {
    ui.text_rich(room, Type::body, Type::strong, t.dim, t.text, missing_text(trace));
    return;
  }
  const tracer::Summary& summary = trace.why->summary;
  const tracer::Summary* single = single_of(app);
  const auto say = [&](const std::string& text, Type type, ImU32 ink) {
    if (text.empty() || room.h < 120) return;
    room.take_top(ui.text_rich(room, type, Type::strong, ink, t.text, text) + 6);
  };
  say(tracer::speedup_sentence(summary, single), Type::strong, t.text);
  if (single != nullptr) {
    const auto divided = tracer::divide_speedup(summary, *single);
    if (divided) say(tracer::speedup_line(*divided), Type::body, t.dim);
  }
  draw_bar(ui, room.take_top(24), step->split.spent);
  room.take_top(8);
  draw_path_words(ui, room.take_bottom(64), app, *step);
  if (room.h > 250) {
    const std::string& limit = trace.why->limit;
    const float high =
        ui.text_rich(room, Type::body, Type::strong, t.dim, t.text, limit, false);
    ui.text_rich(room.take_bottom(high + 8), Type::body, Type::strong, t.dim, t.text,
                 limit);
    room.take_bottom(8);
  }
  const float rows =
      kClassRow * static_cast<float>(std::count_if(
                      step->split.spent.times.begin(), step->split.spent.times.end(),
                      [](int64_t time) { return time > 0; }));
  const auto devices = static_cast<float>(step->split.devices.size());
  const float bars = std::min(devices * 16, 140.0f);
  if (devices > 1 && devices <= 16 && room.h > rows + bars + 12) {
    draw_devices(ui, room.take_bottom(bars), step->split);
    room.take_bottom(8);
  }
  static const tracer::Split none;
  const bool several = trace.model->steps.size() > 1;
  draw_rows(ui, room, step->split, several ? trace.why->mean_of(*step) : none);
}

}  // namespace lockstep::gui
