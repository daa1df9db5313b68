#include "gui/panels/stage_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/units.h"
#include "gui/panels/widgets.h"

namespace lockstep::gui {

namespace {

void draw_glow(const Ui& ui, const Rect& r, ImU32 colour) {
  for (int glow = 3; glow > 0; --glow) {
    const float grow = static_cast<float>(glow) * 3.2f;
    ui.fill(r.inset(-grow), with_alpha(colour, 0.10f), 4 + grow);
  }
}

}  // namespace

float packet_size(int64_t bytes) {
  return std::clamp(6.5f + 4.6f * std::cbrt(static_cast<float>(bytes) * 1e-6f), 9.0f,
                    26.0f);
}

const std::vector<Packet>& packets_shown(const App& app, const OpenTrace& trace) {
  const bool playing = app.settings.transport.playing;
  return playing ? trace.state.packets : trace.state.still.packets;
}

const Underway& underway_shown(const App& app, const OpenTrace& trace) {
  const State& state = trace.state;
  const bool still = !app.settings.transport.playing && state.still.underway.any();
  return still ? state.still.underway : state.underway;
}

void draw_packet(const Ui& ui, ImVec2 at, float size, ImU32 colour, bool waits) {
  const Rect r{at.x - size / 2, at.y - size * 0.42f, size, size * 0.84f};
  if (waits) {
    ui.fill(r, ui.theme.panel, std::min(4.0f, size * 0.22f));
    ui.frame(r, colour, std::min(4.0f, size * 0.22f), 1.4f);
    return;
  }
  draw_glow(ui, r, colour);
  ui.fill(r, colour, std::min(4.0f, size * 0.22f));
  ui.frame(r, mixed(colour, ui.theme.background, 0.35f), std::min(4.0f, size * 0.22f));
}

void draw_pill(const Ui& ui, ImVec2 at, ImU32 colour, const std::string& words,
               bool waits) {
  const float wide = ui.width(Type::small, words) + 12;
  const Rect r{std::round(at.x - wide / 2), std::round(at.y - 9), wide, 18};
  if (waits) {
    ui.fill(r, ui.theme.panel, 5);
    ui.frame(r, colour, 5);
    ui.text_centred(r, Type::small, readable(colour, ui.theme.panel), words);
    return;
  }
  draw_glow(ui, r, colour);
  ui.fill(r, colour, 5);
  ui.frame(r, mixed(colour, ui.theme.background, 0.35f), 5);
  ui.text_centred(r, Type::small, ink_on(colour), words);
}

void draw_packet_label(const Ui& ui, ImVec2 at, float size, const Rect& within,
                       ImU32 colour, const std::string& label) {
  const float wide = ui.width(Type::strong, label) + 14;
  float x = at.x + size / 2 + 9;
  if (x + wide > within.right()) x = at.x - size / 2 - 9 - wide;
  const Rect box{x, at.y - 10, wide, 20};
  ui.fill(box, ui.theme.panel, 5);
  ui.text(box.x + 7, box.y + 3, Type::strong, readable(colour, ui.theme.panel), label);
}

std::string packet_label(const OpenTrace& trace, const Packet& packet) {
  const Model& model = *trace.model;
  const Copy& copy = model.copies[packet.copy];
  std::string words =
      fmt::format("{}  {}", human_bytes(copy.bytes), model.strings[copy.why]);
  if (!packet.waits) return words;
  if (!model.has_device_times()) return words + " · waits";
  return words + " · in " + human_time(time_until(trace, copy.event));
}

}  // namespace lockstep::gui
