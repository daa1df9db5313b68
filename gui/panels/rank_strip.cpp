// A mark for each rank, if there are more ranks than cards: what its device computes
// and communicates. A click shows the rank's program.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "gui/panels/stage_parts.h"
#include "gui/panels/widgets.h"

namespace lockstep::gui {

namespace {

/// For more ranks, looking up what each waits for would take too long.
constexpr size_t kMostWaiting = 256;

/// The two halves of a mark; 0: nothing runs.
struct Halves {
  ImU32 computes = 0, communicates = 0;
  bool waits = false;
};

Halves halves_of(const Ui& ui, const OpenTrace& trace, int device) {
  const Model& model = *trace.model;
  const DeviceState& own = trace.state.devices[device];
  const auto colour = [&](uint32_t event) {
    return event == kNoEvent ? 0 : event_colour(ui.theme, model, event);
  };
  Halves halves;
  halves.computes =
      colour(own.effects.kernels > 0 ? own.effects.first_kernel : own.running[0]);
  const Underway& now = trace.state.underway;
  if (now.any() && now.to_come) {
    for (const uint32_t part : model.collectives[now.collective].events) {
      const bool here = model.lanes[model.events[part].lane].device == device;
      if (here) halves.communicates = colour(part);
    }
  }
  if (halves.communicates == 0) halves.communicates = colour(own.collective);
  for (const int stream : {2, 1}) {
    if (halves.communicates == 0) halves.communicates = colour(own.running[stream]);
  }
  const bool idle = halves.computes == 0 && halves.communicates == 0;
  halves.waits =
      idle && model.devices.size() <= kMostWaiting &&
      waiting_on(model, device, trace.state.now).cause != Waiting::For::nothing;
  return halves;
}

void draw_mark(const Ui& ui, const Rect& r, const Halves& halves) {
  const Theme& t = ui.theme;
  ui.fill(r, t.sunken, 2);
  if (halves.waits) ui.hatch(r, t.waiting);
  const float half = std::floor(r.h / 2);
  if (halves.computes != 0) ui.fill({r.x, r.y, r.w, half}, halves.computes, 1);
  if (halves.communicates != 0) {
    ui.fill({r.x, r.y + half, r.w, r.h - half}, halves.communicates, 1);
  }
}

}  // namespace

void draw_rank_strip(const Ui& ui, const RingLayout& layout,
                     const std::vector<int>& order, App& app, const OpenTrace& trace) {
  const Model& model = *trace.model;
  const Rect& strip = layout.strip;
  const float rows = std::max(1.0f, std::round(strip.h / 15));
  const auto columns =
      static_cast<size_t>(std::ceil(static_cast<float>(order.size()) / rows));
  const float wide = strip.w / static_cast<float>(columns), high = strip.h / rows;
  const auto place = [&](size_t i) {
    return Rect{strip.x + wide * static_cast<float>(i % columns),
                strip.y + high * static_cast<float>(i / columns), wide, high};
  };
  const float gap = wide > 5 ? 2.0f : wide > 2.5f ? 1.0f : 0.0f;
  for (size_t i = 0; i < order.size(); ++i) {
    const Rect r = place(i);
    const Rect mark{r.x, r.y + 1, r.w - gap, r.h - 5};
    draw_mark(ui, mark, halves_of(ui, trace, order[i]));
    if (model.devices[order[i]].rank == trace.state.rank) {
      ui.frame({mark.x - 1, mark.y - 1, mark.w + 2, mark.h + 2}, ui.theme.accent, 2, 2);
    }
    if (layout.card[order[i]] != RingLayout::kNoCard) {  // has a card
      ui.fill({r.x, r.bottom() - 3, r.w, 1.5f}, ui.theme.dim);
    }
  }
  bool hovered = false;
  const bool clicked = ui.clicked("rank strip", strip, &hovered);
  if (!hovered && !clicked) return;
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  for (size_t i = 0; i < order.size(); ++i) {
    if (!place(i).contains(mouse)) continue;
    if (hovered) ui.tooltip(rank_tip(ui, trace, order[i], underway_shown(app, trace)));
    if (clicked && &trace == &app.trace()) {
      app.focus_rank(model.devices[order[i]].rank);
    }
    return;
  }
}

}  // namespace lockstep::gui
