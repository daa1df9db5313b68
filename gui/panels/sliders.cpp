// "What if": sliders for the program and its hardware, and what they change.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/units.h"
#include "gui/app/what_if.h"
#include "gui/model/details.h"
#include "gui/model/sliders.h"
#include "gui/panels/drawer.h"
#include "gui/panels/widgets.h"
#include "tracer/emulate/symmetric/symmetric_ddp.h"

namespace lockstep::gui {

namespace {

constexpr float kSliderRow = 22;

/// Draws a slider and returns the stop to which the mouse drags it, or its own.
size_t draw_slider(const Ui& ui, const Rect& row, const SliderFace& face) {
  const Theme& t = ui.theme;
  constexpr float kName = 92, kValue = 108;
  const bool moves = face.off.empty() && face.stops > 1;
  const float text = row.y + (row.h - ui.line_height(Type::body)) / 2;
  ui.text_cut(row.x, text, kName - 6, Type::body, moves ? t.text : t.faint, face.name);
  bool asked = false;
  ui.clicked("name", {row.x, row.y, kName, row.h}, &asked);
  if (asked) ui.tooltip(face.off.empty() ? face.tip : face.off);
  ui.text_cut(row.right() - kValue + 8, text, kValue - 8, Type::body,
              moves ? t.text : t.dim, face.value);
  const Rect track{row.x + kName, row.y, row.w - kName - kValue, row.h};
  ImGui::SetCursorScreenPos(track.min());
  ImGui::InvisibleButton("slider", {std::max(1.0f, track.w), track.h});
  const bool hovered = ImGui::IsItemHovered(), held = ImGui::IsItemActive() && moves;
  // Of a slider that moves, a tooltip would cover the values that it is about.
  if (hovered && !moves) ui.tooltip(face.off.empty() ? face.tip : face.off);
  const float margin = 6, room = std::max(1.0f, track.w - 2 * margin);
  const auto steps = static_cast<float>(std::max<size_t>(1, face.stops - 1));
  size_t stop = face.stop;
  if (held) {
    const float share = (ImGui::GetIO().MousePos.x - track.x - margin) / room;
    stop = static_cast<size_t>(std::lround(std::clamp(share, 0.0f, 1.0f) * steps));
  }
  const float middle = track.y + track.h / 2;
  const float x = track.x + margin + room * static_cast<float>(stop) / steps;
  ui.fill({track.x + margin, middle - 2, room, 4}, t.sunken, 2);
  ui.frame({track.x + margin, middle - 2, room, 4}, t.line, 2);
  if (!moves) return face.stop;
  ui.fill({track.x + margin, middle - 2, x - track.x - margin, 4}, t.accent, 2);
  ui.list->AddCircleFilled({x, middle}, held || hovered ? 7.0f : 6.0f, t.accent);
  ui.list->AddCircle({x, middle}, held || hovered ? 7.0f : 6.0f, t.panel, 0, 1.5f);
  return stop;
}

/// Returns the sliders that are shown: without those that a recording of several
/// devices has no use for, which retimed_words explains.
std::vector<Knob> shown_knobs(const WhatIfPanel& panel) {
  std::vector<Knob> knobs;
  const bool constructs = !panel.room.batches.empty();
  for (size_t i = 0; i < kKnobs; ++i) {
    const auto knob = static_cast<Knob>(i);
    if (constructs || face_of(knob, *panel.question, panel.room).off.empty()) {
      knobs.push_back(knob);
    }
  }
  return knobs;
}

size_t slider_columns(float width) { return width > 560 ? 2 : 1; }
size_t slider_rows(size_t sliders, float width) {
  return (sliders + slider_columns(width) - 1) / slider_columns(width);
}

/// Draws all sliders in columns, as many as fit, and asks what they are moved to.
void draw_sliders_in(const Ui& ui, const Rect& room, App& app) {
  const WhatIfPanel& panel = *app.what_if;
  const std::vector<Knob> knobs = shown_knobs(panel);
  const size_t columns = slider_columns(room.w);
  const size_t rows = slider_rows(knobs.size(), room.w);
  const float wide =
      (room.w - 18 * static_cast<float>(columns - 1)) / static_cast<float>(columns);
  const Scroll scroll(ui, "sliders", room, kSliderRow * static_cast<float>(rows), 0, 0,
                      kSliderRow);
  std::optional<tracer::WhatIf> next;
  for (size_t i = 0; i < knobs.size(); ++i) {
    const Rect row{room.x + static_cast<float>(i / rows) * (wide + 18),
                   scroll.top() + kSliderRow * static_cast<float>(i % rows), wide,
                   kSliderRow};
    if (row.y < room.y - 0.5f || row.bottom() > scroll.bottom() + 0.5f) continue;
    const SliderFace face = face_of(knobs[i], *panel.question, panel.room);
    ImGui::PushID(static_cast<int>(knobs[i]));
    const size_t stop = draw_slider(ui, row, face);
    ImGui::PopID();
    if (stop != face.stop)
      next = with_stop(knobs[i], stop, *panel.question, panel.room);
  }
  if (next) ask(app, *next);
}

/// Returns the step that the sliders give, beside the recorded one, as a sentence.
std::string step_sentence(const App& app) {
  const WhatIfPanel& panel = *app.what_if;
  if (!panel.step) return "Computing …";
  if (panel.step_for != panel.question) return "Computing …";
  return step_words(*panel.question, panel.room, step_times(app));
}

/// Returns what else has to be said, or "".
std::string remark(const WhatIfPanel& panel) {
  if (!panel.problem.empty()) return panel.problem;
  const tracer::WhatIf& question = *panel.question;
  if (question.mode == "ddp" && question.devices > tracer::kMostDevices) {
    return fmt::format(
        "{} ranks do the same: the panels show ranks 0, 1, {} and {}, without the "
        "messages between ranks; images/s and bytes beside the stage are of these "
        "alone.",
        question.devices, question.devices / 2, question.devices - 1);
  }
  return retimed_words(panel.room);
}

/// Returns the share of a recorded step in which its devices wait for a core or the
/// GPU, or 0.
double waits_for_processor(const tracer::Summary& recorded, int64_t length) {
  for (const tracer::StepSummary& step : recorded.train.steps) {
    if (step.length != length || !step.split.known) continue;
    const tracer::SpentTimes& spent = step.split.spent;
    return static_cast<double>(spent[tracer::Spent::core] + spent[tracer::Spent::gpu]) /
           static_cast<double>(std::max<int64_t>(1, spent.sum()));
  }
  return 0;
}

/// Returns what the change has in it besides the sliders: recorded devices share this
/// machine's cores, or wait for their GPU; emulated ones do not.
std::string processor_change(const App& app) {
  constexpr double kWorthSaying = 0.02;
  const OpenTrace& recorded = recorded_of(app);
  if (recorded.why == nullptr || !recorded.why->problem.empty()) return "";
  const tracer::Summary& summary = recorded.why->summary;
  std::string text;
  const double waits = waits_for_processor(summary, step_times(app).recorded);
  if (waits >= kWorthSaying) {
    text = fmt::format("wait for {} in **{}** of the step",
                       processor_words(*recorded.model), percent(waits));
  }
  if (tracer::is_disturbed(summary)) {
    text += fmt::format("{}take **{:.1f}x** their CPU time",
                        text.empty() ? "" : ", and kernels ",
                        tracer::wall_over_cpu(summary.train));
  }
  if (text.empty()) return "";
  return fmt::format("In the recording, {} {}; {}.",
                     waits >= kWorthSaying ? "devices" : "kernels", text,
                     on_gpus(*recorded.model)
                         ? "emulated kernels start as soon as they could"
                         : "emulated devices have cores of their own");
}

/// Returns what the links change, once that is known.
std::string links_change(const WhatIfPanel& panel) {
  const bool known = panel.problem.empty() && panel.answered == panel.question;
  return known ? links_words(*panel.question, panel.links) : "";
}

/// Returns the longest gap of the emulated devices, and what binds it.
std::string longest_wait(const App& app) {
  const WhatIfPanel& panel = *app.what_if;
  if (!panel.problem.empty() || !shows_emulated(app)) return "";
  const Model& model = *app.traces()[panel.at].model;
  const Gap* gap =
      longest_gap(model, panel.gaps, model.steps[app.traces()[panel.at].state.step]);
  return gap == nullptr ? "" : "Longest gap: " + gap_words(model, *gap) + ".";
}

/// Draws the command that gives the same times. Returns what is left of the room.
void draw_command(const Ui& ui, Rect line, App& app) {
  const Theme& t = ui.theme;
  const std::string command = what_if_command(app);
  const WhatIfPanel& panel = *app.what_if;
  if (panel.other) {
    const std::string label =
        panel.emulated ? fmt::format("show {}", own_times(panel.room.provenance))
                       : "show emulated";
    const float wide = ui.width(Type::body, label) + 20;
    if (ui.button("toggle", line.take_right(wide), label.c_str())) toggle_emulated(app);
    line.take_right(6);
  }
  if (ui.button("copy", line.take_right(54), "copy")) {
    ImGui::SetClipboardText(command.c_str());
    app.say("copied: " + command);
  }
  line.take_right(8);
  ui.text_cut(line.x, line.y + (line.h - ui.line_height(Type::mono_small)) / 2, line.w,
              Type::mono_small, t.dim, command);
}

/// Returns what is written in small type between the step and the sliders.
std::string slider_notes(const App& app) {
  std::string notes = remark(*app.what_if);
  for (const std::string& more :
       {links_change(*app.what_if), processor_change(app), longest_wait(app)}) {
    if (!more.empty()) notes += (notes.empty() ? "" : " ") + more;
  }
  return notes;
}

}  // namespace

float drawer_of_sliders_height(const Ui& ui, float width, const App& app) {
  constexpr float kFrame = 49, kCommand = 30;
  if (app.what_if == nullptr || app.what_if->at != app.current() ||
      !app.what_if->question) {
    return 0;
  }
  const Rect room{0, 0, width - 28, 0};
  // At least so many lines, so that the height stays while a slider is dragged.
  const auto text = [&](Type type, const std::string& words, float lines) {
    const auto high = [&](const std::string& of) {
      return ui.text_rich(room, type, Type::strong, 0, 0, of, false);
    };
    return std::max(high(words), lines * high("x"));
  };
  const auto rows =
      static_cast<float>(slider_rows(shown_knobs(*app.what_if).size(), room.w));
  return kFrame + kCommand + text(Type::body, step_sentence(app), 2) + 4 +
         text(Type::small, slider_notes(app), 3) + 6 + kSliderRow * rows;
}

void draw_sliders(const Ui& ui, const Rect& area, App& app) {
  const Theme& t = ui.theme;
  Rect room{area.x + 13, area.y + 6, area.w - 26, area.h - 10};
  if (app.what_if == nullptr || app.what_if->at != app.current()) open_what_if(app);
  const WhatIfPanel& panel = *app.what_if;
  if (!panel.question) {
    ui.text_rich(room, Type::body, Type::strong,
                 panel.problem.empty() ? t.dim : t.warning, t.text,
                 panel.problem.empty() ? "Reading the trace …" : panel.problem);
    return;
  }
  if (panel.problem.empty()) {
    room.take_top(4 + ui.text_rich(room, Type::body, Type::strong, t.dim, t.text,
                                   step_sentence(app)));
  }
  draw_command(ui, room.take_bottom(24), app);
  room.take_bottom(6);
  const std::string notes = slider_notes(app);
  const ImU32 ink = panel.problem.empty() ? t.dim : t.warning;
  if (!notes.empty()) {
    const float high =
        ui.text_rich(room, Type::small, Type::strong, ink, t.text, notes);
    room.take_top(high + 6);
  }
  const float rows =
      kSliderRow * static_cast<float>(slider_rows(shown_knobs(panel).size(), room.w));
  if (room.h > rows) room = room.take_bottom(rows);  // stay, whatever is written above
  draw_sliders_in(ui, room, app);
}

}  // namespace lockstep::gui
