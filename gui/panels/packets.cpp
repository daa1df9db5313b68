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

Rect place_label(ImVec2 at, float size, const Rect& within, float wide,
                 std::span<const Rect> taken) {
  constexpr float kHigh = 20;
  const auto covered = [&](const Rect& box) {
    float area = 0;
    for (const Rect& other : taken) {
      const float w = std::min(box.right(), other.right()) - std::max(box.x, other.x);
      const float h = std::min(box.bottom(), other.bottom()) - std::max(box.y, other.y);
      if (w > 0 && h > 0) area += w * h;
    }
    return area;
  };
  const float right = at.x + size / 2 + 9, left = at.x - size / 2 - 9 - wide;
  const bool fits_right = right + wide <= within.right();
  Rect best;
  float least = -1;
  for (const float down : {0.0f, 14.0f, -14.0f, 28.0f, -28.0f, 42.0f}) {
    for (const bool on_right : {fits_right, !fits_right}) {
      const float x = on_right ? right : left;
      const bool inside = x >= within.x && x + wide <= within.right();
      if (!inside && least >= 0) continue;
      const Rect box{x, at.y - kHigh / 2 + down, wide, kHigh};
      const float cost = covered(box);
      if (least < 0 || cost < least) best = box, least = cost;
    }
  }
  return best;
}

void draw_packet_label(const Ui& ui, ImVec2 at, float size, const Rect& within,
                       ImU32 colour, const std::string& label,
                       std::span<const Rect> taken) {
  const float wide = ui.width(Type::strong, label) + 14;
  const Rect box = place_label(at, size, within, wide, taken);
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
  return words + " · starts in " + human_time(time_until(trace, copy.event));
}

}  // namespace lockstep::gui
