#include "gui/panels/pipeline_legend.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/units.h"

namespace lockstep::gui {

namespace {

using tracer::Pipeline;
using tracer::Slot;

struct LegendEntry {
  std::string words, tip;
  ImU32 colour = 0;
  Slot slot = Slot::pass;
};

std::vector<LegendEntry> legend_of(const Theme& t, const Pipeline& grid) {
  std::vector<LegendEntry> entries;
  const int64_t whole = std::max<int64_t>(1, grid.times.sum());
  const auto share = [&](int64_t time) {
    return percent(static_cast<double>(time) / static_cast<double>(whole));
  };
  entries.push_back({"forward", "a forward pass, with its micro-batch",
                     phase_colour(t, phases::forward)});
  entries.push_back({"backward " + share(grid.times[Slot::pass]) + " both",
                     "a backward pass; the share is that of all passes' kernels",
                     phase_colour(t, phases::backward)});
  for (size_t i = 1; i < tracer::kSlots; ++i) {
    const Slot slot = static_cast<Slot>(i);
    const int64_t time = grid.times[slot];
    if (time == 0) continue;
    const tracer::SlotWords& words = words_of(slot);
    entries.push_back(
        {fmt::format("{} {}", words.name, share(time)),
         fmt::format("{}: {} of {} devices. {}", words.name, human_time(time),
                     grid.devices.size(), rule_of(slot, grid.processor)),
         0, slot});
  }
  return entries;
}

}  // namespace

SlotLook slot_look(const Theme& t, Slot slot) {
  switch (slot) {
    case Slot::pass:
      return {phase_colour(t, phases::forward), {}};
    case Slot::fill:
      return {t.green, Hatch::rising};
    case Slot::drain:
      return {t.sky, Hatch::falling};
    case Slot::order:
      return {t.lime, Hatch::rising};
    case Slot::uneven:
      return {t.warning, Hatch::crossed};
    case Slot::knock_on:
      return {t.pink, Hatch::falling};
    case Slot::link:
      return {reason_colour(t, reasons::activation), Hatch::crossed};
    case Slot::host:
      return {t.violet, Hatch::falling};
    case Slot::core:
    case Slot::gpu:
      return {mixed(t.waiting, t.text, 0.3f), Hatch::crossed};
    case Slot::wake_ups:
      return {t.grey, {}};
    case Slot::other:
      return {t.yellow, {}};
    case Slot::unknown:
      break;
  }
  return {t.line, {}};
}

void fill_slot(const Ui& ui, const Rect& r, Slot slot) {
  const SlotLook look = slot_look(ui.theme, slot);
  if (!look.hatch || r.w < 3) {
    const ImU32 colour =
        look.hatch ? mixed(ui.theme.sunken, look.colour, 0.6f) : look.colour;
    return ui.fill(r, colour);
  }
  ui.hatch(r, look.colour, *look.hatch);
  ui.frame(r, with_alpha(look.colour, 0.5f));
}

float draw_slot_legend(const Ui& ui, const Rect& area, const Pipeline& grid,
                       bool draw) {
  constexpr float kLine = 18;
  float x = area.x, y = area.y;
  int id = 0;
  for (const LegendEntry& entry : legend_of(ui.theme, grid)) {
    const float wide = 17 + ui.width(Type::small, entry.words) + 14;
    if (x > area.x && x + wide > area.right() + 14) x = area.x, y += kLine;
    if (draw) {
      const Rect box{x, y + 3, 12, 11};
      if (entry.slot == Slot::pass) {
        ui.fill(box, entry.colour, 2);
      } else {
        ui.fill(box, ui.theme.sunken);
        fill_slot(ui, box, entry.slot);
      }
      ui.text(x + 17, y + 1, Type::small, ui.theme.text, entry.words);
      bool hovered = false;
      ImGui::PushID(id++);
      ui.clicked("legend", {x, y, wide - 14, kLine}, &hovered);
      ImGui::PopID();
      if (hovered) ui.tooltip(entry.tip);
    }
    x += wide;
  }
  return y + kLine - area.y;
}

}  // namespace lockstep::gui
