// Shows the time of each phase and the bytes through each port in the step.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/units.h"
#include "gui/panels/panels.h"
#include "gui/panels/widgets.h"
#include "gui/ui/ui.h"

namespace lockstep::gui {

namespace {

const tracer::NamedPhase* named(const Breakdown& from, const std::string& name) {
  for (const tracer::NamedPhase& phase : from.phases) {
    if (phase.name == name) return &phase;
  }
  return nullptr;
}

std::string speed_line(const OpenTrace& trace) {
  const Breakdown& step = trace.step;
  if (!trace.model->has_device_times()) return "null devices: no times";
  const bool of_one = step.rank != kAllRanks;
  std::string text =
      (of_one ? fmt::format("worker {}: step ", step.rank) : std::string("step ")) +
      human_time(step.length);
  const double rate = images_per_second(step);
  if (rate > 0) text += fmt::format(" · {:.{}f} images/s", rate, rate < 100 ? 1 : 0);
  const Model& model = *trace.model;
  if (!of_one && model.alone >= 0) {
    text += fmt::format(" · rank {} of {}", model.alone, model.all_ranks);
  } else if (!of_one && model.ranks() > 1) {
    const int recorded = model.ranks_recorded();
    text += !model.represented.empty() ? fmt::format(" · {} ranks", model.ranks())
            : recorded == model.ranks()
                ? " · all ranks"
                : fmt::format(" · {} of {} ranks", recorded, model.ranks());
  }
  return text;
}

constexpr float kLeastRow = 16, kMostRow = 21;

/// Returns a height at which all rows fit into `room`, or the least one.
float row_height(float room, size_t rows) {
  const float each = std::floor(room / static_cast<float>(std::max<size_t>(1, rows)));
  return std::clamp(each, kLeastRow, kMostRow);
}

/// Says in the title bar what the bars and their ticks are, in as many words as fit.
void draw_times_legend(const Ui& ui, const Rect& area, const OpenTrace& trace) {
  const Theme& t = ui.theme;
  const std::string busy = "busy", extent = "first to last";
  const bool of_one = trace.mean.rank != kAllRanks;
  const size_t steps = std::min(trace.model->steps.size(), kMeanSteps);
  const std::string counted =
      of_one ? "mean of its steps" : fmt::format("mean of {} steps", steps);
  const std::string whole = counted + ", the first, cold one included";
  std::string mean = steps > 1 ? whole : "";
  const auto needed = [&] {
    const float tick = mean.empty() ? 0 : 17 + ui.width(Type::small, mean);
    return 48 + ui.width(Type::small, busy) + ui.width(Type::small, extent) + tick;
  };
  const float room = area.w - 42 - ui.width(Type::small, "THIS STEP");
  for (const std::string& shorter : {counted, std::string("mean")}) {
    if (needed() > room && !mean.empty()) mean = shorter;
  }
  if (needed() > room) return;
  const float y = area.y + 9;
  float x = area.right() - 13 - needed();
  ui.fill({x, y + 4, 14, 7}, t.grey, 3);
  ui.text(x + 19, y, Type::small, t.faint, busy);
  x += 29 + ui.width(Type::small, busy);
  ui.frame({x, y + 4, 14, 7}, t.grey, 3);
  ui.text(x + 19, y, Type::small, t.faint, extent);
  if (mean.empty()) return;
  x += 19 + ui.width(Type::small, extent) + 10;
  ui.fill({x, y + 2, 1.5f, 11}, t.text);
  ui.text(x + 7, y, Type::small, t.faint, mean);
  bool hovered = false;
  const float wide = 7 + ui.width(Type::small, mean);
  ui.clicked("mean", {x, area.y + 4, wide, 22}, &hovered);
  if (hovered) ui.tooltip(whole);
}

/// Returns "loss: host 271 ms, devices 246 µs from the first start to the last end, …".
std::string both_times(const Model& model, const tracer::NamedPhase& phase) {
  std::string text = phase.name + ": host " + human_time(phase.cost.host);
  if (!phase.cost.on_device()) return text + ", no work on devices";
  if (!model.has_device_times()) return text;
  return text + ", devices " + human_time(phase.cost.device) +
         " from the first start to the last end, of which the busiest one works " +
         human_time(busiest(phase.cost));
}

/// What goes through one port in one direction.
struct PortLine {
  int device;
  bool out;
  int64_t bytes = 0;
  std::vector<const PortBytes*> parts;
};

/// Returns "134 MB out of device 0: 134 MB replicate, 24.6 kB grad_scatter".
std::string port_tip(const Model& model, const PortLine& line) {
  std::string parts;
  for (const PortBytes* part : line.parts) {
    parts += fmt::format("{}{} {}", parts.empty() ? "" : ", ", human_bytes(part->bytes),
                         model.strings[part->why]);
  }
  return fmt::format("{} {} {}: {}", human_bytes(line.bytes),
                     line.out ? "out of" : "into", device_label(model, line.device),
                     parts);
}

}  // namespace

float step_times_height(const OpenTrace& trace, float row) {
  const size_t rows = std::max<size_t>(3, trace.step.phases.size());
  return 71 + why_bar_height(trace) + row * static_cast<float>(rows);
}

float ports_height(const OpenTrace& trace, float row) {
  float lines = 0;  // one for each device and direction that carries any data
  const PortBytes* before = nullptr;
  for (const PortBytes& port : trace.step.ports) {
    lines +=
        before == nullptr || before->device != port.device || before->out != port.out;
    before = &port;
  }
  return 45 + row * std::max(2.0f, lines);
}

void draw_step_times(const Ui& ui, const Rect& area, App& app) {
  const Theme& t = ui.theme;
  const OpenTrace& trace = app.trace();
  const Model& model = *trace.model;
  Rect room = ui.card(area, "THIS STEP");
  draw_times_legend(ui, area, trace);
  room = {room.x + 13, room.y + 8, room.w - 26, room.h - 12};
  const Rect foot = room.take_bottom(24);
  ui.list->AddLine({foot.x, foot.y}, {foot.right(), foot.y}, t.line);
  ui.text_cut(foot.x, foot.y + 6, foot.w, Type::body, t.dim, speed_line(trace));
  room.take_bottom(4);

  room.take_top(draw_why_bar(ui, room, app));

  int64_t longest = 1;
  for (const tracer::NamedPhase& phase : trace.step.phases) {
    longest = std::max(longest, phase.cost.cost());
  }
  for (const tracer::NamedPhase& phase : trace.mean.phases) {
    longest = std::max(longest, phase.cost.cost());
  }
  std::string current;
  for (const uint32_t index : trace.state.stack) {
    if (model.events[index].what() == Kind::phase) {
      current = model.name_of(model.events[index]);
    }
  }
  const Event& event = model.events[trace.state.event];
  if (event.is_task() && event.phase != 0) {
    current = model.strings[model.phases[event.phase]];
  }
  const float name_width = std::min(108.0f, room.w * 0.47f);
  const float row = row_height(room.h, trace.step.phases.size());
  const bool scrolls = row * static_cast<float>(trace.step.phases.size()) > room.h + 1;
  const float right = room.right() - (scrolls ? 8 : 0);
  int shown = 0;  // the current phase stays in view
  for (size_t i = 0; i < trace.step.phases.size(); ++i) {
    if (trace.step.phases[i].name == current) shown = static_cast<int>(i);
  }
  const float wanted = row * static_cast<float>(shown + 1) - room.h;
  const Scroll scroll(ui, "times", room,
                      row * static_cast<float>(trace.step.phases.size()),
                      std::max(0.0f, wanted), shown, row);
  float y = scroll.top();
  for (const tracer::NamedPhase& phase : trace.step.phases) {
    const std::string& name = phase.name;
    const bool now = name == current;
    const float text_y = y + (row - ui.line_height(Type::body)) / 2;
    ui.text_cut(room.x, text_y, name_width - 6, Type::body, now ? t.accent : t.text,
                name);
    bool hovered = false;
    if (scroll.shows(y, row)) {
      ui.clicked(("time of " + name).c_str(), {room.x, y, room.w, row}, &hovered);
    }
    if (hovered) ui.tooltip(both_times(model, phase));
    const bool timed = !phase.cost.on_device() || model.has_device_times();
    const std::string time = (phase.cost.on_device() ? "" : "host ") +
                             (timed ? human_time(phase.cost.cost()) : "–");
    ui.text_right(right, text_y, Type::body, now ? t.text : t.dim, time);
    const Rect bar{room.x + name_width, y + row / 2 - 3,
                   right - room.x - name_width - 62, 7};
    if (bar.w > 12 && phase.cost.on_device() && timed) {
      const auto part = [&](int64_t ns) {
        return static_cast<float>(static_cast<double>(ns) /
                                  static_cast<double>(longest));
      };
      // Outlined: between the first task and the last one, the devices may pause.
      const ImU32 colour = phase_colour(t, name);
      ui.bar(bar, part(phase.cost.cost()), colour, false);
      const float worked = bar.w * part(busiest(phase.cost));
      if (worked >= 0.5f) ui.fill({bar.x, bar.y, worked, bar.h}, colour, 0);
      const tracer::NamedPhase* mean = named(trace.mean, phase.name);
      if (mean != nullptr && model.steps.size() > 1) {
        const float x = bar.x + bar.w * part(mean->cost.cost());
        ui.fill({x - 0.75f, bar.y - 2, 1.5f, bar.h + 4}, t.text);
      }
    }
    y += row;
  }
}

void draw_ports(const Ui& ui, const Rect& area, App& app) {
  const Theme& t = ui.theme;
  const OpenTrace& trace = app.trace();
  const Model& model = *trace.model;
  const bool several = model.devices.size() > 1;
  Rect room =
      ui.card(area, several ? "" : "BYTES BY PORT", several ? "" : "in this step");
  room = {room.x + 13, room.y + 9, room.w - 26, room.h - 14};
  if (several) {
    draw_tabs(
        ui, area,
        {{{"BYTES BY PORT", "bytes through each device's port in this step  (v)"},
          {"OVERLAP",
           "computation at the same time as copies and collectives, which include "
           "waiting for other ranks (h divides them)  (v)"}}},
        app.settings.overlap);
    if (app.settings.overlap) return draw_overlap(ui, room, trace);
  }
  const auto& ports = trace.step.ports;
  if (ports.empty()) {
    ui.text_rich(room, Type::body, Type::strong, t.faint, t.dim,
                 model.copies.empty() ? "The trace records no copies between memories."
                                      : "No data moves between memories in this step.");
    return;
  }
  std::vector<PortLine> lines;
  int64_t most = 1;
  for (const PortBytes& port : ports) {
    if (lines.empty() || lines.back().device != port.device ||
        lines.back().out != port.out) {
      lines.push_back({port.device, port.out, 0, {}});
    }
    lines.back().bytes += port.bytes;
    lines.back().parts.push_back(&port);
    most = std::max(most, lines.back().bytes);
  }
  const float row = row_height(room.h, lines.size());
  const Scroll scroll(ui, "ports", room, row * static_cast<float>(lines.size()), 0, 0,
                      row);
  const bool scrolls = row * static_cast<float>(lines.size()) > room.h + 1;
  const float right = room.right() - (scrolls ? 8 : 0);
  const float name_width = std::min(82.0f, room.w * 0.36f);
  float y = scroll.top();
  for (const PortLine& line : lines) {
    const float text_y = y + (row - ui.line_height(Type::body)) / 2;
    const std::string name = line.device == kHostDevice
                                 ? "host"
                                 : fmt::format("dev {}", model.devices[line.device].id);
    const bool hot = line.bytes * 2 > most;
    ui.text(room.x, text_y, Type::body, hot ? t.text : t.dim,
            name + (line.out ? " out" : " in"));
    ui.text_right(right, text_y, Type::body, hot ? t.text : t.dim,
                  human_bytes(line.bytes));
    const Rect bar{room.x + name_width, y + row / 2 - 3,
                   right - room.x - name_width - 62, 7};
    if (bar.w > 12) {
      ui.fill(bar, t.sunken, 3);
      float x = bar.x;
      for (const PortBytes* part : line.parts) {
        const float wide = bar.w * static_cast<float>(static_cast<double>(part->bytes) /
                                                      static_cast<double>(most));
        if (wide < 0.4f) continue;
        ui.fill({x, bar.y, wide, bar.h}, reason_colour(t, model.strings[part->why]), 1);
        x += wide;
      }
    }
    bool hovered = false;
    ImGui::PushID(static_cast<int>(&line - lines.data()));
    ui.clicked("port", {room.x, y, right - room.x, row}, &hovered);
    ImGui::PopID();
    if (hovered) ui.tooltip(port_tip(model, line));
    y += row;
  }
}

}  // namespace lockstep::gui
