// Shows the fraction of communication that each device overlaps with computation.
#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "gui/panels/panels.h"
#include "gui/ui/ui.h"

namespace lockstep::gui {

namespace {

struct Part {
  const char* name;
  int64_t time;
  ImU32 colour;
};

std::array<Part, 3> parts_of(const Theme& t, const DeviceTime& device) {
  return {{{"computes", device.computing - device.both, t.blue},
           {"both at once", device.both, t.green},
           {"copies, collectives", device.communicating - device.both, t.pink}}};
}

/// Draws the names of the colours; drops words rather than cutting one.
void draw_legend(const Ui& ui, const Rect& legend) {
  float x = legend.x;
  for (const Part& part : parts_of(ui.theme, {})) {
    const float wide = ui.width(Type::small, part.name);
    if (x + 12 + wide > legend.right()) break;
    ui.fill({x, legend.y + 8, 7, 7}, part.colour, 2);
    ui.text(x + 11, legend.y + 5, Type::small, ui.theme.dim, part.name);
    x += 11 + wide + 10;
  }
}

}  // namespace

void draw_overlap(const Ui& ui, Rect room, const OpenTrace& trace) {
  const Theme& t = ui.theme;
  const Model& model = *trace.model;
  const auto& devices = trace.step.devices;
  const int64_t length = model.steps[trace.state.step].length;  // of all ranks
  const Rect legend = room.take_bottom(19);
  const float row = std::clamp(
      room.h / static_cast<float>(std::max<size_t>(1, devices.size())), 16.0f, 20.0f);
  const float all = row * static_cast<float>(devices.size());
  draw_legend(ui, legend);
  const Scroll scroll(ui, "overlap", room, all, 0, 0, row);
  const float right = room.right() - (all > room.h + 1 ? 8 : 0);
  const float name_width = std::min(52.0f, room.w * 0.3f);
  const float words = 84;
  float y = scroll.top();
  for (size_t i = 0; i < devices.size(); ++i, y += row) {
    const DeviceTime& device = devices[i];
    const float text_y = y + (row - ui.line_height(Type::body)) / 2;
    const bool own = model.devices[i].rank == trace.state.rank && model.ranks() > 1;
    ui.text_cut(room.x, text_y, name_width - 4, Type::body, own ? t.accent : t.text,
                fmt::format("dev {}", model.devices[i].id));
    if (device.communicating > 0) {
      const double hidden =
          static_cast<double>(device.both) / static_cast<double>(device.communicating);
      ui.text_right(right, text_y, Type::body, t.dim, percent(hidden) + " hidden");
    }
    const Rect bar{room.x + name_width, y + row / 2 - 4,
                   right - room.x - name_width - words, 8};
    if (bar.w < 12) continue;
    ui.fill(bar, t.sunken, 2);
    float x = bar.x;
    for (const Part& part : parts_of(t, device)) {
      const float wide =
          bar.w * static_cast<float>(static_cast<double>(part.time) /
                                     static_cast<double>(std::max<int64_t>(1, length)));
      if (wide < 0.4f) continue;
      ui.fill({x, bar.y, std::min(wide, bar.right() - x), bar.h}, part.colour, 1);
      x += wide;
    }
  }
}

}  // namespace lockstep::gui
