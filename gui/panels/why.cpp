// "Why not 4x?": devices x step time by class, the speed-up, and the longest path.
#include "gui/model/why.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/units.h"
#include "gui/app/what_if.h"
#include "gui/panels/panels.h"
#include "gui/panels/why_classes.h"
#include "gui/panels/widgets.h"
#include "tracer/analysis/advice.h"
#include "tracer/analysis/speedup.h"

namespace lockstep::gui {

namespace {

using tracer::Spent;

constexpr float kClassRow = 19;

double share_of(const tracer::SpentTimes& spent, size_t i) {
  const int64_t whole = spent.sum();
  return whole <= 0 ? 0
                    : static_cast<double>(spent.times[i]) / static_cast<double>(whole);
}

std::string tip_of(const tracer::SpentTimes& spent, size_t i,
                   tracer::Processor processor) {
  const tracer::SpentWords& words = tracer::words_of(static_cast<Spent>(i));
  return fmt::format("{}: {}, {}. {}", words.name, human_time(spent.times[i]),
                     percent(share_of(spent, i)),
                     tracer::rule_of(static_cast<Spent>(i), processor));
}

/// Draws the classes side by side. Returns true if one was clicked.
bool draw_bar(const Ui& ui, const Rect& bar, const tracer::SpentTimes& spent,
              tracer::Processor processor) {
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
    if (hovered) ui.tooltip(tip_of(spent, i, processor));
  }
  return clicked;
}

/// What the panel shows, from top to bottom. It is laid out twice: first to learn its
/// height, then to draw it.
class WhyColumn {
 public:
  /// Measures only, if `scroll` is nullptr. `rules`: beside the rows, if there is room.
  WhyColumn(const Ui& ui, const Rect& area, const Scroll* scroll, bool rules,
            tracer::Processor processor)
      : ui_(ui),
        area_(area),
        rules_(rules),
        processor_(processor),
        x_(area.x),
        width_(area.w - 10),
        scroll_(scroll),
        top_(scroll == nullptr ? 0 : scroll->top()),
        y_(top_) {}

  float height() const { return y_ - top_; }

  void say(std::string text, Type type, ImU32 ink) {
    if (text.empty()) return;
    std::erase(text, '`');  // around commands, for a terminal
    const auto draw_text = [&](bool draw) {
      return ui_.text_rich({x_, y_, width_, 1000}, type, Type::strong, ink,
                           ui_.theme.text, text, draw);
    };
    const float high = draw_text(false);
    if (shows_whole(high)) draw_text(true);
    y_ += high + 6;
  }

  void bar(const tracer::SpentTimes& spent) {
    if (draws()) draw_bar(ui_, {x_, y_, width_, 24}, spent, processor_);
    y_ += 32;
  }

  /// A row per class, with its rule beside it if there is room.
  void rows(const tracer::Split& split, const tracer::Split& mean, bool hint) {
    const float numbers = mean.known ? 366 : 290;
    const bool rules = rules_ && width_ - numbers > kRuleRoom;
    if (!rules && hint) {
      say("Point at a row for its rule, or double-click the title for more room.",
          Type::small, ui_.theme.dim);
    }
    for (size_t i = 0; i < tracer::kSpents; ++i) {
      if (split.spent.times[i] <= 0 && mean.spent.times[i] <= 0) continue;
      row(i, split.spent, mean, rules ? numbers : 0);
    }
  }

  void skip(float points) { y_ += points; }

  void devices(const tracer::Split& split) {
    y_ += 8;
    for (size_t d = 0; d < split.devices.size(); ++d, y_ += kDeviceRow) {
      if (!shows_whole(kDeviceRow)) continue;
      ui_.text(x_, y_, Type::small, ui_.theme.dim,
               fmt::format("dev {}", split.devices[d].device));
      ImGui::PushID(static_cast<int>(d));
      draw_bar(ui_, {x_ + 48, y_ + 2, width_ - 48, kDeviceRow - 5},
               split.devices[d].spent, processor_);
      ImGui::PopID();
    }
  }

 private:
  static constexpr float kRuleRoom = 230;  ///< points
  static constexpr float kDeviceRow = 16;

  bool draws() const { return scroll_ != nullptr; }
  /// Returns true if what begins here and is so high is drawn: whole or not at all.
  bool shows_whole(float high) const {
    return draws() && y_ >= area_.y - 0.5f && y_ + high <= scroll_->bottom();
  }

  void row(size_t i, const tracer::SpentTimes& spent, const tracer::Split& mean,
           float rule_at) {
    const Theme& t = ui_.theme;
    const tracer::SpentWords& words = tracer::words_of(static_cast<Spent>(i));
    const float text = y_ + (kClassRow - ui_.line_height(Type::body)) / 2;
    const Rect rule{x_ + rule_at, y_ + 2, width_ - rule_at, 200};
    const auto draw_rule = [&](bool draw) {
      return ui_.text_rich(rule, Type::small, Type::strong, t.dim, t.text,
                           tracer::rule_of(static_cast<Spent>(i), processor_), draw);
    };
    const float high =
        rule_at > 0 ? std::max(kClassRow, draw_rule(false) + 4) : kClassRow;
    const Rect whole{x_, y_, width_, high};
    const bool shown = shows_whole(high);
    y_ += high;
    if (!shown) return;
    if (rule_at > 0) draw_rule(true);
    fill_class(ui_, {x_, whole.y + 4, 12, 11}, static_cast<Spent>(i));
    ui_.text(x_ + 20, text, Type::body, t.text, words.name);
    ui_.text_right(x_ + 232, text, Type::body, t.text, human_time(spent.times[i]));
    ui_.text_right(x_ + 276, text, Type::body, t.text, percent(share_of(spent, i)));
    if (mean.known) {
      ui_.text_right(x_ + 352, text, Type::body, t.dim,
                     percent(share_of(mean.spent, i)) + " mean");
    }
    bool hovered = false;
    ImGui::PushID(static_cast<int>(i));
    ui_.clicked("row", whole, &hovered);
    ImGui::PopID();
    if (hovered) ui_.tooltip(tip_of(spent, i, processor_));
  }

  const Ui& ui_;
  const Rect area_;
  const bool rules_;
  const tracer::Processor processor_;
  const float x_, width_;
  const Scroll* const scroll_;
  const float top_;
  float y_;
};

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

/// Returns what is said of the longest path: its shares, and the segment walked to.
std::vector<std::string> path_words(const OpenTrace& trace,
                                    const tracer::StepSummary& step) {
  const auto& path = trace.why->paths[trace.state.step];
  if (path.empty()) {
    return {trace.why->summary.imported
                ? "The **longest path** is unknown: an imported trace does not record "
                  "what its streams waited for."
                : "The **longest path** is unknown."};
  }
  const size_t own = current_segment(trace);
  const PathSegment& segment = path[own];
  return {fmt::format("Longest path, {} of the step's {}: {}", human_time(step.path),
                      human_time(step.length), path_shares(step.path_shares)),
          fmt::format("**{} of {}** · {} · {}", own + 1, path.size(),
                      human_time(segment.time), cause_of(*trace.model, segment))};
}

/// Draws them at the bottom of `room`, without what they take.
void draw_path_words(const Ui& ui, Rect& room, const std::vector<std::string>& words) {
  const Theme& t = ui.theme;
  float high = 7;
  for (const std::string& text : words) {
    high += ui.text_rich(room, Type::body, Type::strong, t.dim, t.accent, text, false);
  }
  Rect below = room.take_bottom(high);
  room.take_bottom(6);
  ui.list->AddLine({below.x, below.y}, {below.right(), below.y}, t.line);
  below.take_top(7);
  for (const std::string& text : words) {
    const bool first = &text == &words.front();
    below.take_top(ui.text_rich(below, Type::body, Type::strong, first ? t.dim : t.text,
                                first ? t.text : t.accent, text));
  }
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

/// Returns how the sliders' program compares with one emulated device; "" if that is
/// not known.
std::string one_such_device(const App& app) {
  if (!shows_emulated(app) || app.what_if->question->mode.empty()) return "";
  if (app.what_if->step_for != app.what_if->question) return "";
  const WhatIfTimes times = step_times(app);
  const int devices = app.what_if->question->devices;
  if (devices < 2 || times.alone <= 0 || times.step <= 0) return "";
  return fmt::format(
      "{} devices are {:.2f}x as fast as one: {} a step, and one such device takes {} "
      "for its share.",
      devices,
      devices * static_cast<double>(times.alone) / static_cast<double>(times.step),
      human_time(times.step), human_time(times.alone));
}

/// `low`: not all fits. Then the classes come before what is less than an answer.
void fill_column(WhyColumn& column, App& app, const tracer::StepSummary& step,
                 const Theme& t, bool low) {
  constexpr size_t kMostBars = 16;
  const OpenTrace& trace = app.trace();
  const tracer::Summary& summary = trace.why->summary;
  const tracer::Summary* single = single_of(app);
  const bool several = trace.model->steps.size() > 1;
  const std::string mean =
      several ? fmt::format("Mean of {} steps: ", summary.train.warm().size()) : "";
  const auto of_all = [&](const std::string& text) {
    return text.empty() ? text : mean + text;
  };
  const std::string one = one_such_device(app);
  column.say(one.empty() ? of_all(tracer::speedup_sentence(summary, single)) : one,
             Type::strong, t.text);
  if (single != nullptr) {
    const auto divided = tracer::divide_speedup(summary, *single);
    if (divided) column.say(tracer::speedup_line(*divided), Type::body, t.dim);
  }
  column.bar(step.split.spent);
  const bool concludes = trace.why->limit.find("no conclusion") == std::string::npos;
  const auto limits = [&] {
    column.say(concludes ? of_all(trace.why->limit) : trace.why->limit, Type::body,
               t.dim);
  };
  if (!low) limits();
  column.say(tracer::help_sentence(step, summary), Type::strong, t.text);
  if (!low) column.say(trace.why->warm_up, Type::body, t.dim);
  static const tracer::Split none;
  column.rows(step.split, several ? trace.why->mean_of(step) : none, !low);
  if (low) {
    column.skip(6);
    limits();
    column.say(trace.why->warm_up, Type::body, t.dim);
  }
  const size_t devices = step.split.devices.size();
  if (devices > 1 && devices <= kMostBars) column.devices(step.split);
}

}  // namespace

const tracer::Summary* single_of(App& app) {
  const tracer::Summary& summary = app.trace().why->summary;
  for (const OpenTrace& other : app.traces()) {
    if (&other == &app.trace() || other.why == nullptr) continue;
    if (other.why->problem.empty() &&
        tracer::does_the_same_work(summary, other.why->summary)) {
      return &other.why->summary;
    }
  }
  return nullptr;
}

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
  const Model& model = *trace.model;
  const size_t devices = model.devices.size() - static_cast<size_t>(model.servers());
  return devices > 1 ? fmt::format("WHY NOT {}×?", devices) : "WHERE THE TIME GOES";
}

float why_bar_height(const OpenTrace& trace) {
  return why_step(trace) == nullptr ? 0 : 20;
}

float draw_why_bar(const Ui& ui, const Rect& room, App& app) {
  const tracer::StepSummary* step = why_step(app.trace());
  if (step == nullptr) return 0;
  const tracer::Processor processor = app.trace().why->summary.processor;
  if (draw_bar(ui, {room.x, room.y, room.w, 12}, step->split.spent, processor)) {
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
  std::vector<std::string> path = path_words(trace, *step);
  const auto lay_out = [&](const Scroll* scroll, bool rules, bool low = false) {
    WhyColumn column(ui, room, scroll, rules, trace.why->summary.processor);
    fill_column(column, app, *step, t, low);
    return column.height();
  };
  constexpr float kPathWords = 70;
  const bool low = lay_out(nullptr, false) > room.h - kPathWords;
  if (low && path.size() > 1) path.erase(path.begin());  // the path's shares
  draw_path_words(ui, room, path);
  // Rows come before their rules, which a tooltip shows, too.
  const bool rules = lay_out(nullptr, true) <= room.h;
  const Scroll scroll(ui, "why", room, lay_out(nullptr, rules, low), 0, 0);
  lay_out(&scroll, rules, low);
}

}  // namespace lockstep::gui
