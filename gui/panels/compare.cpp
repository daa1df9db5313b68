// Compares two or three traces side by side, at the same phase of the same step.
#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "gui/panels/panels.h"

namespace lockstep::gui {

namespace {

constexpr size_t kMaxTraces = 3;

std::string title_of(const Model& model) {
  const std::string mode = model.meta_text(top::mode);
  const std::string arch = model.meta_text(top::arch);
  if (mode.empty()) return model.name.substr(model.name.find_last_of('/') + 1);
  return fmt::format("{} · {} · {} device{} · {}", arch, mode, model.devices.size(),
                     model.devices.size() == 1 ? "" : "s", model.meta_text(top::clock));
}

/// Returns the phases of all traces; tries to preserve the order within each trace.
std::vector<std::string> all_phases(const std::vector<OpenTrace*>& traces) {
  std::vector<std::string> names;
  for (const OpenTrace* trace : traces) {
    auto place = names.begin();
    for (const tracer::NamedPhase& phase : trace->step.phases) {
      const std::string& name = phase.name;
      auto found = std::find(names.begin(), names.end(), name);
      if (found == names.end()) found = names.insert(place, name);
      place = found + 1;
    }
  }
  return names;
}

/// The device time of a phase, or its host time if it has no device tasks.
struct Cost {
  int64_t time = 0;
  bool on_device = true;
};

Cost cost_of(const OpenTrace& trace, const std::string& phase) {
  for (const tracer::NamedPhase& own : trace.step.phases) {
    if (own.name == phase) return {own.cost.cost(), own.cost.on_device()};
  }
  return {};
}

/// Returns the ratio, or "" if a time is 0 or only one of them is device time.
std::string difference(const Cost& first, const Cost& other) {
  if (first.time == 0 || other.time == 0 || first.on_device != other.on_device)
    return "";
  const double ratio =
      static_cast<double>(other.time) / static_cast<double>(first.time);
  if (ratio >= 1000) return ">999×";
  return fmt::format("{:.{}f}×", ratio, ratio < 10 ? 2 : ratio < 100 ? 1 : 0);
}

/// Returns a warning if the traces do different work, or an empty string otherwise.
std::string different_work(const std::vector<OpenTrace*>& traces) {
  const std::string arch = traces.front()->model->meta_text(top::arch);
  const int64_t batch = traces.front()->step.batch;
  for (const OpenTrace* trace : traces) {
    const std::string other = trace->model->meta_text(top::arch);
    if (other != arch) {
      return fmt::format("different workloads: the models are {} and {}", arch, other);
    }
    if (trace->step.batch != batch) {
      return fmt::format("different workloads: the batch sizes are {} and {}", batch,
                         trace->step.batch);
    }
  }
  return "";
}

void draw_table(const Ui& ui, const Rect& area, const std::vector<OpenTrace*>& traces) {
  const Theme& t = ui.theme;
  const std::string warning = different_work(traces);
  Rect room = ui.card(
      area, "THIS STEP, PHASE BY PHASE",
      warning.empty() ? "outlined: host time · ×: relative to the first trace" : "");
  if (!warning.empty()) {
    ui.text_right(room.right() - 13, area.y + 9, Type::small, t.warning, warning);
  }
  room = {room.x + 14, room.y + 6, room.w - 28, room.h - 10};
  const std::vector<std::string> phases = all_phases(traces);
  int64_t longest = 1;
  for (const OpenTrace* trace : traces) {
    for (const std::string& phase : phases) {
      longest = std::max(longest, cost_of(*trace, phase).time);
    }
  }
  const float name_width = 112;
  const float column = (room.w - name_width) / static_cast<float>(traces.size());
  const float row =
      std::clamp(room.h / static_cast<float>(phases.size() + 1), 14.0f, 21.0f);
  const auto draw_row = [&](const std::string& name, auto value, bool whole) {
    const Rect line = room.take_top(row);
    const float y = line.y + (row - ui.line_height(Type::body)) / 2;
    ui.text_cut(line.x, y, name_width - 8, Type::body, whole ? t.text : t.dim, name);
    for (size_t i = 0; i < traces.size(); ++i) {
      const float x = line.x + name_width + column * static_cast<float>(i);
      const Cost cost = value(*traces[i]);
      const float bar_width = column - 160;
      if (!whole && bar_width > 20) {
        ui.bar({x, line.y + row / 2 - 3, bar_width, 7},
               static_cast<float>(static_cast<double>(cost.time) /
                                  static_cast<double>(longest)),
               phase_colour(t, name), cost.on_device);
      }
      const float right = x + column - 70;
      ui.text_right(right, y, whole ? Type::strong : Type::body,
                    cost.time == 0 ? t.faint : t.text,
                    cost.time == 0 ? "–" : human_time(cost.time));
      if (i > 0) {
        ui.text_right(x + column - 16, y, Type::body, t.dim,
                      difference(value(*traces[0]), cost));
      }
    }
  };
  draw_row(
      "step", [](const OpenTrace& trace) { return Cost{trace.step.length, true}; },
      true);
  for (const std::string& phase : phases) {
    if (room.h < row) break;
    draw_row(
        phase, [&](const OpenTrace& trace) { return cost_of(trace, phase); }, false);
  }
}

}  // namespace

void draw_compare(const Ui& ui, const Rect& area, App& app) {
  const Theme& t = ui.theme;
  std::vector<OpenTrace*> traces;
  for (OpenTrace& trace : app.traces()) {
    if (traces.size() < kMaxTraces) traces.push_back(&trace);
  }
  Rect room = area;
  const float table = std::clamp(41 + 18 * 13.0f, 120.0f, room.h * 0.44f);
  draw_table(ui, room.take_bottom(table), traces);
  room.take_bottom(9);
  const float gap = 9;
  const auto count = static_cast<float>(traces.size());
  const float wide = (room.w - gap * (count - 1)) / count;
  for (size_t i = 0; i < traces.size(); ++i) {
    Rect column{room.x + static_cast<float>(i) * (wide + gap), room.y, wide, room.h};
    const Rect head = column.take_top(28);
    const bool own = traces[i] == &app.trace();
    ImGui::PushID(static_cast<int>(i));
    if (ui.clicked("trace", head)) app.select_trace(i);
    ui.text_cut(head.x + 4, head.y + 4, head.w * 0.66f, Type::strong,
                own ? t.accent : t.text, title_of(*traces[i]->model));
    const State& state = traces[i]->state;
    const std::string what =
        traces[i]->model->name_of(traces[i]->model->events[state.event]);
    const float room_right = head.w * 0.3f;
    const float text = std::min(room_right, ui.width(Type::mono_small, what));
    ui.text_cut(head.right() - 4 - text, head.y + 6, room_right, Type::mono_small,
                t.dim, what);
    draw_stage(ui, column, app, *traces[i]);
    ImGui::PopID();
  }
}

}  // namespace lockstep::gui
