// The pipeline's grid: a row per device, a box per pass, idle slots hatched by cause.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/units.h"
#include "gui/panels/panels.h"
#include "gui/panels/pipeline_legend.h"
#include "gui/panels/widgets.h"
#include "gui/text/language.h"
#include "tracer/analysis/bubble.h"

namespace lockstep::gui {

namespace {

using plan::PipelineOp;
using tracer::Pipeline;
using tracer::Slot;

/// Room left and right of the time.
struct Margins {
  float label, facts;
};
Margins margins_in(float width) {
  return width > 560 ? Margins{96, 104} : Margins{66, 82};
}

/// Stages that share a device differ in shade.
ImU32 pass_colour(const Theme& t, const Pipeline& grid, const plan::PipelineAction& a) {
  const bool forward = a.op == PipelineOp::forward;
  ImU32 colour = phase_colour(t, forward ? phases::forward : phases::backward);
  if (a.op == PipelineOp::weight_backward) colour = mixed(colour, t.yellow, 0.4f);
  const size_t round = static_cast<size_t>(a.stage) / grid.devices.size();
  return mixed(colour, t.panel, std::min(0.45f, 0.22f * static_cast<float>(round)));
}

const char* pass_words(PipelineOp op) {
  switch (op) {
    case PipelineOp::forward:
      return "forward";
    case PipelineOp::backward:
      return "backward";
    case PipelineOp::input_backward:
      return "backward for the input";
    case PipelineOp::weight_backward:
      break;
  }
  return "backward for the weights";
}

/// The drawing of one step.
struct Scene {
  const Ui& ui;
  App& app;
  const Pipeline& grid;
  const PipelinePlaces& places;
  int64_t now = 0;                     ///< on the analysis's clock
  uint32_t current = tracer::kNoPass;  ///< the pass at the position
  Margins margins;
  Rect time;  ///< where the time runs

  bool grows() const { return app.settings.cut == Cut::stage; }
  float x_of(int64_t ts) const {
    const double share = static_cast<double>(ts - grid.begin) /
                         static_cast<double>(std::max<int64_t>(1, grid.length()));
    return time.x + time.w * static_cast<float>(std::clamp(share, 0.0, 1.0));
  }
  int64_t ts_of(float x) const {
    const double share = std::clamp((x - time.x) / std::max(1.0f, time.w), 0.0f, 1.0f);
    return grid.begin +
           static_cast<int64_t>(share * static_cast<double>(grid.length()));
  }
};

std::string stages_text(const tracer::PipelineDevice& device) {
  std::string text = device.stages.size() > 1 ? "stages " : "stage ";
  for (size_t i = 0; i < device.stages.size(); ++i) {
    text += (i > 0 ? ", " : "") + std::to_string(device.stages[i]);
  }
  return text;
}

std::string pass_tip(const Scene& scene, const PipelineRow::Box& box) {
  const tracer::PipelinePass& pass = scene.grid.passes[box.pass];
  if (box.count > 1) {
    return fmt::format(
        "{} passes from {} on, in {}: enlarge the panel (double click "
        "its title)",
        box.count, plan::to_text(pass.action), human_time(box.end - box.begin));
  }
  return fmt::format(
      "{}: {} of micro-batch {} at stage {}, {} on device {}; kernels run "
      "for {} of it",
      plan::to_text(pass.action), pass_words(pass.action.op), pass.action.micro_batch,
      pass.action.stage, human_time(pass.end - pass.begin),
      scene.grid.devices[pass.device].device, human_time(pass.running));
}

std::string idle_tip(const Scene& scene, const tracer::PipelinePiece& piece) {
  const tracer::SlotWords& words = words_of(piece.slot);
  const std::string before =
      piece.pass == tracer::kNoPass
          ? "after its last pass"
          : "before " + plan::to_text(scene.grid.passes[piece.pass].action);
  return fmt::format("{}: {} {}. {}", words.name, human_time(piece.end - piece.begin),
                     before, rule_of(piece.slot, scene.grid.processor));
}

/// Returns the last item that begins by `ts`, if it lasts until then; else nullptr.
template <typename Item>
const Item* item_at(const std::vector<Item>& items, int64_t ts) {
  const auto after =
      std::upper_bound(items.begin(), items.end(), ts,
                       [](int64_t t, const Item& item) { return t < item.begin; });
  if (after == items.begin() || (after - 1)->end <= ts) return nullptr;
  return &*(after - 1);
}

void go_to_pass(const Scene& scene, uint32_t pass) {
  if (pass == tracer::kNoPass || scene.places.events[pass] == kNoEvent) return;
  scene.app.settings.transport.playing = false;
  scene.app.go(at_event(*scene.app.trace().model, scene.places.events[pass]));
}

void hover_row(const Scene& scene, const Rect& row, size_t device) {
  bool hovered = false;
  ImGui::PushID(static_cast<int>(device));
  const bool clicked = scene.ui.clicked(
      "pipeline", {scene.time.x, row.y, scene.time.w, row.h}, &hovered);
  ImGui::PopID();
  if (!hovered) return;
  const int64_t ts = scene.ts_of(ImGui::GetMousePos().x);
  const PipelineRow& own = scene.places.rows[device];
  const auto* piece = item_at(own.idle, ts);
  const auto* box = item_at(own.boxes, ts);
  if (piece != nullptr) {
    scene.ui.tooltip(idle_tip(scene, *piece));
    if (clicked) go_to_pass(scene, piece->pass);
  } else if (box != nullptr) {
    scene.ui.tooltip(pass_tip(scene, *box));
    if (clicked) go_to_pass(scene, box->pass);
  }
}

/// Draws the micro-batches, where they fit, above the idle slots inside a pass.
void draw_numbers(const Scene& scene, const Rect& row, size_t device) {
  const Ui& ui = scene.ui;
  if (row.h < 11) return;
  for (const PipelineRow::Box& box : scene.places.rows[device].boxes) {
    const plan::PipelineAction& action = scene.grid.passes[box.pass].action;
    const float from = scene.x_of(box.begin), wide = scene.x_of(box.end) - from - 1;
    const std::string number = std::to_string(action.micro_batch);
    const bool large = row.h >= 15 && ui.width(Type::body, number) + 3 < wide;
    const Type type = large ? Type::body : Type::small;
    const float text = ui.width(type, number);
    if (box.count > 1 || text + 1 >= wide) continue;
    const ImU32 colour = pass_colour(ui.theme, scene.grid, action);
    const float high = std::min(row.h, ui.line_height(type));
    const float pad = std::min(2.0f, (wide - text) / 2);
    ui.fill({from + (wide - text) / 2 - pad, row.y + (row.h - high) / 2, text + 2 * pad,
             high},
            colour, 2);
    ui.text_centred({from, row.y, wide, row.h}, type, ink_on(colour), number);
  }
}

void draw_boxes(const Scene& scene, const Rect& row, size_t device) {
  const Ui& ui = scene.ui;
  const Theme& t = ui.theme;
  ui.fill({scene.time.x, row.y, scene.time.w, row.h}, t.sunken);
  for (const PipelineRow::Box& box : scene.places.rows[device].boxes) {
    const tracer::PipelinePass& pass = scene.grid.passes[box.pass];
    const float from = scene.x_of(box.begin), to = scene.x_of(box.end);
    const bool wide = to - from > 4;
    const Rect r{from, row.y, std::max(0.7f, to - from - (wide ? 1 : 0)), row.h};
    const ImU32 colour = pass_colour(t, scene.grid, pass.action);
    ui.fill(r, colour, wide ? 2 : 0);
  }
  for (const tracer::PipelinePiece& piece : scene.places.rows[device].idle) {
    const float from = scene.x_of(piece.begin), to = scene.x_of(piece.end);
    if (to - from < 0.5f) continue;
    fill_slot(ui, {from, row.y, to - from, row.h}, piece.slot);
  }
  draw_numbers(scene, row, device);
  if (scene.current == tracer::kNoPass) return;
  const tracer::PipelinePass& pass = scene.grid.passes[scene.current];
  if (pass.device != device) return;
  const float from = scene.x_of(pass.begin);
  ui.frame(
      {from - 1, row.y - 1, std::max(3.0f, scene.x_of(pass.end) - from + 1), row.h + 2},
      t.accent, 2, 2);
}

int live_at(const PipelineRow& row, int64_t ts) {
  const auto after =
      std::upper_bound(row.live.begin(), row.live.end(), ts,
                       [](int64_t t, const auto& change) { return t < change.first; });
  return after == row.live.begin() ? 0 : (after - 1)->second;
}

/// Draws how many micro-batches are live, over time.
void draw_live(const Scene& scene, const Rect& strip, size_t device) {
  const PipelineRow& row = scene.places.rows[device];
  int most = 1;
  for (const PipelineRow& other : scene.places.rows) {
    most = std::max(most, other.most_live);
  }
  const ImU32 colour = with_alpha(memory_colour(scene.ui.theme, 3), 0.55f);
  for (size_t i = 0; i < row.live.size(); ++i) {
    const float from = scene.x_of(row.live[i].first);
    const float to = i + 1 < row.live.size() ? scene.x_of(row.live[i + 1].first)
                                             : scene.time.right();
    const float high =
        strip.h * static_cast<float>(row.live[i].second) / static_cast<float>(most);
    if (to > from && high > 0) {
      scene.ui.fill({from, strip.bottom() - high, to - from, high}, colour);
    }
  }
}

void draw_facts(const Scene& scene, const Rect& area, size_t device, bool two_lines) {
  const Ui& ui = scene.ui;
  const PipelineRow& row = scene.places.rows[device];
  const int live = live_at(row, scene.now);
  const int64_t bytes = scene.grid.devices[device].activations;
  const std::string most = bytes == tracer::kNone ? "" : "≤ " + human_bytes(bytes);
  const float y = area.y + (two_lines ? 1 : (area.h - ui.line_height(Type::small)) / 2);
  ui.text_cut(area.x, y, area.w, Type::small, ui.theme.text,
              fmt::format("{} live, ≤ {}", live, row.most_live));
  if (two_lines) {
    ui.text_cut(area.x, y + ui.line_height(Type::small), area.w, Type::small,
                ui.theme.dim, most);
  }
}

void draw_row(const Scene& scene, Rect row, size_t device) {
  const Ui& ui = scene.ui;
  const tracer::PipelineDevice& own = scene.grid.devices[device];
  const bool tall = row.h >= 30;
  const float gap = row.h > 20 ? 4 : 1;
  row.h -= gap;
  const Rect label{row.x, row.y, scene.margins.label - 8, row.h};
  const std::string name = fmt::format("dev {}", own.device);
  const float line = ui.line_height(Type::small);
  if (tall) {
    ui.text_cut(label.x, row.y, label.w, Type::body, ui.theme.text, name);
    ui.text_cut(label.x, row.y + ui.line_height(Type::body), label.w, Type::small,
                ui.theme.dim, stages_text(own));
  } else {
    ui.text_cut(label.x, row.y + (row.h - line) / 2, label.w, Type::small,
                ui.theme.text, name + " · " + stages_text(own));
  }
  draw_facts(scene, {scene.time.right() + 10, row.y, scene.margins.facts - 10, row.h},
             device, tall);
  const Rect whole = row;
  if (scene.grows()) {  // what is still to come is not drawn
    ui.fill({scene.time.x, row.y, scene.time.w, row.h}, ui.theme.sunken);
    ui.list->PushClipRect({row.x, row.y - 2}, {scene.x_of(scene.now), row.bottom() + 2},
                          true);
  }
  if (row.h >= 20) {
    const Rect strip = row.take_bottom(std::floor(row.h * 0.28f));
    draw_live(scene, {strip.x, strip.y + 1, strip.w, strip.h - 1}, device);
  }
  draw_boxes(scene, row, device);
  if (scene.grows()) ui.list->PopClipRect();
  hover_row(scene, whole, device);
}

/// Draws the line of the position, and says where it is if it is outside.
void draw_now(const Scene& scene, const Rect& rows, const Rect& axis) {
  const Ui& ui = scene.ui;
  const Theme& t = ui.theme;
  const float y = axis.y + 2;
  ui.text(scene.time.x, y, Type::small, t.faint, "0");
  const std::string length = human_time(scene.grid.length());
  ui.text_right(scene.time.right(), y, Type::small, t.faint, length);
  const float room = scene.time.w - ui.width(Type::small, length) - 30;
  if (scene.now < scene.grid.begin) {
    ui.text_cut(scene.time.x + 14, y, room, Type::small, t.accent,
                fmt::format("the position is {} before the first pass",
                            human_time(scene.grid.begin - scene.now)));
    return;
  }
  if (scene.now > scene.grid.end) {
    ui.text_cut(scene.time.x + 14, y, room, Type::small, t.accent,
                fmt::format("the position is {} after the last pass",
                            human_time(scene.now - scene.grid.end)));
    return;
  }
  const float x = std::floor(scene.x_of(scene.now)) + 0.5f;
  ui.list->AddLine({x, rows.y - 3}, {x, rows.bottom()}, t.accent, 1.5f);
  const std::string words = human_time(scene.now - scene.grid.begin);
  const float half = ui.width(Type::small, words) / 2;
  if (x - half > scene.time.x + 12 && x + half < scene.time.right() - 60) {
    ui.text(x - half, y, Type::small, t.accent, words);
  }
}

std::string headline(const Pipeline& grid) {
  std::string text = fmt::format(
      "**{}** · {} stage{} on {} device{} · {} micro-batch{} · bubble **{}**",
      grid.schedule.empty() ? "pipeline" : plain(grid.schedule, 24), grid.stages.size(),
      grid.stages.size() == 1 ? "" : "s", grid.devices.size(),
      grid.devices.size() == 1 ? "" : "s", grid.micro_batches,
      grid.micro_batches == 1 ? "" : "es", bubble_text(grid.times));
  if (grid.ideal) {
    text += fmt::format("; with equal stages and free links **{:.1f} %**",
                        100 * *grid.ideal);
  } else {
    text += "; passes of other ranks are not in this file";
  }
  if (grid.rounds > 1) text += fmt::format(" · the first of {} runs", grid.rounds);
  return text;
}

std::string missing_words(const OpenTrace& trace) {
  if (trace.why == nullptr) return "Computing …";
  if (!trace.why->problem.empty()) return "Unknown: " + trace.why->problem;
  if (!trace.model->has_device_times()) {
    return "Devices of type null compute nothing: their times have no meaning.";
  }
  return "This step ran no **pipeline**: no event names an action such as 0F3, and no "
         "range of PyTorch's profiler is named PP:0F3.";
}

}  // namespace

const Pipeline* pipeline_here(const OpenTrace& trace) {
  if (trace.why == nullptr) return nullptr;
  return trace.why->pipeline(*trace.model, trace.state.step);
}

void draw_pipeline(const Ui& ui, const Rect& area, App& app) {
  const OpenTrace& trace = app.trace();
  const Pipeline* grid = pipeline_here(trace);
  const bool film = app.settings.cut != Cut::window;
  const std::string back = film ? "" : "i: back to the stage";
  const std::string note =
      grid == nullptr ? back
                      : fmt::format("step {} · {} x {}{}{}",
                                    trace.model->steps[trace.state.step].number,
                                    grid->devices.size(), human_time(grid->length()),
                                    film ? "" : "  ·  ", back);
  Rect room = ui.card(area, "PIPELINE", note);
  room = {room.x + 16, room.y + 10, room.w - 32, room.h - 20};
  if (grid == nullptr) {
    ui.text_rich(room, Type::body, Type::strong, ui.theme.dim, ui.theme.text,
                 missing_words(trace));
    return;
  }
  const std::string head = headline(*grid);
  room.take_top(
      ui.text_rich(room, Type::body, Type::strong, ui.theme.dim, ui.theme.text, head) +
      10);
  if (room.h > 330) {
    draw_narration(ui, room.take_bottom(narration_height(ui, room.w, app)), app);
    room.take_bottom(8);
  }
  const float legend = draw_slot_legend(ui, room, *grid, false);
  draw_slot_legend(ui, room.take_bottom(legend), *grid, true);
  room.take_bottom(6);
  const Rect axis = room.take_bottom(18);
  const PipelinePlaces& places = trace.why->pipelines[trace.state.step];
  const Margins margins = margins_in(room.w);
  const Rect time{room.x + margins.label, room.y,
                  room.w - margins.label - margins.facts, room.h};
  const int64_t now = trace.state.now - places.offset;
  const uint32_t current = pass_of(places, trace.state.stack);
  const Scene scene{ui, app, *grid, places, now, current, margins, time};
  const auto count = static_cast<float>(grid->devices.size());
  const float high =
      std::clamp(std::floor(room.h / count), 14.0f, film ? 150.0f : 76.0f);
  room.h = std::min(room.h, high * count);
  const Rect under{axis.x, room.bottom(), axis.w, axis.h};
  {
    const Scroll scroll(ui, "pipeline", room, high * count, 0, 0, high);
    float y = scroll.top();
    for (size_t device = 0; device < grid->devices.size(); ++device, y += high) {
      if (scroll.shows(y, high)) draw_row(scene, {room.x, y, room.w, high}, device);
    }
  }
  draw_now(scene, room, under);
}

}  // namespace lockstep::gui
