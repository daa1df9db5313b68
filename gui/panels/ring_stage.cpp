
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/units.h"
#include "gui/model/details.h"
#include "gui/model/stage_messages.h"
#include "gui/model/transfers.h"
#include "gui/panels/panels.h"
#include "gui/panels/stage_parts.h"
#include "gui/panels/widgets.h"

namespace lockstep::gui {

namespace {

/// Draws a clockwise arc of the ring, at most one full turn.
void draw_arc(const Ui& ui, const RingLayout& layout, float from, float to,
              ImU32 colour, float width) {
  std::vector<ImVec2> line;
  const int pieces = std::max(2, static_cast<int>((to - from) * 160));
  for (int i = 0; i <= pieces; ++i) {
    line.push_back(layout.on_loop(from + (to - from) * static_cast<float>(i) /
                                             static_cast<float>(pieces)));
  }
  ui.list->AddPolyline(line.data(), static_cast<int>(line.size()), colour, 0, width);
}

/// Draws an arrowhead on the ring, pointing clockwise.
void draw_arrow(const Ui& ui, const RingLayout& layout, float share, ImU32 colour) {
  const ImVec2 a = layout.on_loop(share - 0.004f), b = layout.on_loop(share + 0.004f);
  const float dx = b.x - a.x, dy = b.y - a.y;
  const float long_ = std::max(0.01f, std::sqrt(dx * dx + dy * dy));
  const float ux = dx / long_ * 5, uy = dy / long_ * 5;
  const ImVec2 tip((a.x + b.x) / 2 + ux, (a.y + b.y) / 2 + uy);
  const ImVec2 back((a.x + b.x) / 2 - ux, (a.y + b.y) / 2 - uy);
  ui.list->AddTriangleFilled(tip, {back.x - uy, back.y + ux},
                             {back.x + uy, back.y - ux}, colour);
}

/// Returns true if nothing joins the ranks of two cards: the end of a pipeline.
bool is_gap(const RingLayout& layout, const Joints& joints, size_t from, size_t to) {
  return !joints.closed && layout.shown[from] == joints.order.back() &&
         layout.shown[to] == joints.order.front();
}

void draw_ring(const Ui& ui, const RingLayout& layout, ImU32 colour,
               const Joints& joints) {
  const size_t count = layout.ports.size();
  const auto end_of = [&](size_t i) {
    const float to = layout.ports[(i + 1) % count];
    return to <= layout.ports[i] ? to + 1 : to;
  };
  const std::pair<ImU32, float> lines[] = {{ui.theme.sunken, 8},
                                           {mixed(ui.theme.line, colour, 0.25f), 2.4f}};
  for (const auto& [ink, width] : lines) {
    if (joints.closed) draw_arc(ui, layout, 0, 1, ink, width);
    for (size_t i = 0; i < count && !joints.closed; ++i) {
      if (is_gap(layout, joints, i, (i + 1) % count)) continue;
      draw_arc(ui, layout, layout.ports[i], end_of(i), ink, width);
    }
  }
  for (size_t i = 0; i < count; ++i) {
    const float from = layout.ports[i], to = end_of(i);
    if (joints.recorded && !is_gap(layout, joints, i, (i + 1) % count)) {
      draw_arrow(ui, layout, (from + to) / 2, mixed(ui.theme.line, colour, 0.7f));
    }
    const ImVec2 at = layout.on_loop(from);
    ui.list->AddLine(layout.port(i), at, mixed(ui.theme.line, colour, 0.25f), 2.4f);
    ui.list->AddCircleFilled(at, 4, mixed(ui.theme.line, colour, 0.5f));
  }
}

/// Returns "starts in 450 ms · " if the collective is being launched but has not
/// started.
std::string when(const OpenTrace& trace, const Underway& now) {
  if (!now.to_come || !trace.model->has_device_times()) return "";
  const uint32_t last = trace.model->collectives[now.collective].events.back();
  const int64_t delay = time_until(trace, last);  // messages wait for the last rank
  return delay <= 0 ? "" : "starts in " + human_time(delay) + " · ";
}

/// Draws the current collective inside the ring: what it reduces and its progress.
void draw_centre(const Ui& ui, const RingLayout& layout, const OpenTrace& trace,
                 const Underway& now, const Joints& joints) {
  const Theme& t = ui.theme;
  const Model& model = *trace.model;
  const Rect& loop = layout.loop;
  if (loop.h < 44) return;  // the messages fill it
  const float pad = std::min(24.0f, loop.h * 0.22f);
  // Leaves the ends of the ring to the messages that pass there.
  const float side = std::max(loop.h * 0.4f, std::min(54.0f, loop.w * 0.2f));
  const Rect room{loop.x + side, loop.y + pad, loop.w - 2 * side, loop.h - 2 * pad};
  const auto line = [&](float y, Type type, ImU32 ink, const std::string& text) {
    const float wide = std::min(room.w, ui.width(type, text));
    ui.text_cut(room.centre().x - wide / 2, y, room.w + 1, type, ink, text);
  };
  if (!now.any()) {
    line(room.centre().y - ui.line_height(Type::small) / 2, Type::small, t.faint,
         fmt::format("{}{} ranks",
                     joints.is_chain   ? "pipeline of "
                     : joints.recorded ? "ring of "
                                       : "",
                     model.ranks()));
    return;
  }
  const Collective& whole = model.collectives[now.collective];
  const CollectiveArgs own(model, whole.events.front());
  const auto between_stages = stage_message(model, whole.events.front());
  const std::string label = between_stages
                                ? between_stages->what()
                                : collective_label(model, whole.events.front());
  const std::string sized = label + " · " + human_bytes(own.facts.bytes);
  std::string what = sized;
  const tracer::Json params = own.facts.params.json();
  if (params.is_array() && !params.empty()) {
    what +=
        fmt::format(" · {} parameter{}", params.size(), params.size() == 1 ? "" : "s");
  }
  // The longest that fits, as nothing is cut.
  for (const std::string& shorter :
       {sized, label, collective_label(model, whole.events.front(), true)}) {
    if (ui.width(Type::strong, what) > room.w) what = shorter;
  }
  const ImU32 colour = event_colour(t, model, whole.events.front());
  const bool has_bar = room.h > 46;
  const float lines = ui.line_height(Type::strong) + ui.line_height(Type::small) +
                      (has_bar ? 16.0f : 2.0f);
  float y = std::round(room.centre().y - lines / 2);
  line(y, Type::strong, readable(colour, t.panel), what);
  y += ui.line_height(Type::strong) + 2;
  std::string round = when(trace, now) + round_in_words(model, now);
  for (const char* detail : {" to the ", ": "}) {  // left out if there is no room
    if (ui.width(Type::small, round) > room.w)
      round.resize(std::min(round.size(), round.find(detail)));
  }
  line(y, Type::small, t.dim, round);
  y += ui.line_height(Type::small) + 6;
  if (!has_bar || now.messages == 0) return;
  const float wide = std::min(room.w, 280.0f);
  const Rect bar{room.centre().x - wide / 2, y, wide, 6};
  ui.bar(bar, static_cast<float>(now.arrived) / static_cast<float>(now.messages),
         colour);
  if (is_all_reduce(model, now.collective)) {
    ui.fill({bar.centre().x - 0.75f, bar.y - 2, 1.5f, bar.h + 4}, t.text);
  }
}

/// Draws a message on the ring: "+2 6.62 MB" adds chunk 2, "=2 6.62 MB" replaces it.
void draw_message(const Ui& ui, const RingLayout& layout, const Model& model,
                  const Rect& room, const Packet& packet, const Joints& joints,
                  bool wordy) {
  constexpr float kWaits = 0.14f;  // just outside the sender
  const Copy& copy = model.copies[packet.copy];
  const bool waits = packet.waits;
  const ImU32 colour = reason_colour(ui.theme, model.strings[copy.why]);
  const size_t from = layout.card[copy.src], to = layout.card[copy.dst];
  if (from == to) return;  // neither has a card
  ImVec2 at = on_ring_path(layout, from, to, waits ? kWaits : packet.progress,
                           joints.goes_back(model, copy));
  const RingMessage message = ring_message(model, copy);
  std::string words = message.chunk < 0
                          ? ""
                          : (message.adds ? "+" : "=") + std::to_string(message.chunk);
  if (wordy) words += (words.empty() ? "" : "  ") + human_bytes(copy.bytes);
  if (words.empty()) {
    draw_packet(ui, at, packet_size(copy.bytes), colour, waits);
    return;
  }
  const float half = ui.width(Type::small, words) / 2 + 7;  // keep it on the stage
  at.x = std::clamp(at.x, room.x + half, std::max(room.x, room.right() - half));
  draw_pill(ui, at, colour, words, waits);
}

void draw_messages(const Ui& ui, const RingLayout& layout, const Rect& room,
                   const OpenTrace& trace, const std::vector<Packet>& packets,
                   const Joints& joints) {
  const Model& model = *trace.model;
  const size_t cards = layout.devices.size();
  const auto on_ring = [](const Copy& c) {
    return c.src != kHostDevice && c.dst != kHostDevice;
  };
  const auto light = [&](const Copy& copy, float alpha) {
    if (!on_ring(copy)) return;
    size_t from = layout.card[copy.src], to = layout.card[copy.dst];
    if (joints.goes_back(model, copy)) std::swap(from, to);
    float end = layout.share(to);
    if (end <= layout.share(from)) end += 1;
    const ImU32 colour = reason_colour(ui.theme, model.strings[copy.why]);
    if (from != to) {
      draw_arc(ui, layout, layout.share(from), end, with_alpha(colour, alpha), 3);
    }
  };
  for (const uint32_t link : trace.state.links) light(model.copies[link], 0.4f);
  for (const Packet& packet : packets) {
    if (!packet.waits) light(model.copies[packet.copy], 0.75f);
  }
  std::vector<int> named;  // one label per device
  for (const Packet& packet : packets) {
    const Copy& copy = model.copies[packet.copy];
    if (on_ring(copy)) {
      const bool wordy = layout.loop.w / static_cast<float>(cards) > 60;
      draw_message(ui, layout, model, room, packet, joints, wordy);
      continue;
    }
    const int device = std::max(copy.src, copy.dst);
    const bool fresh = std::find(named.begin(), named.end(), device) == named.end();
    named.push_back(device);
    draw_host_copy(ui, layout, trace, packet, fresh);
  }
}

int device_of_rank(const Model& model, int rank) {
  for (size_t i = 0; i < model.devices.size(); ++i) {
    if (model.devices[i].rank == rank) return static_cast<int>(i);
  }
  return 0;
}

}  // namespace

void draw_host_copy(const Ui& ui, const RingLayout& layout, const OpenTrace& trace,
                    const Packet& packet, bool named) {
  const Model& model = *trace.model;
  const Copy& copy = model.copies[packet.copy];
  const int device = copy.src == kHostDevice ? copy.dst : copy.src;
  if (device == kHostDevice) return;
  const size_t card = layout.card[device];
  if (card == RingLayout::kNoCard) return;
  const bool above = layout.is_top(card);
  const Rect &host = layout.hosts[card], &own = layout.devices[card];
  const float x = host.x + host.w * 0.5f;
  const float a = above ? host.bottom() : host.y, b = above ? own.y : own.bottom();
  const float t = copy.src == kHostDevice ? packet.progress : 1 - packet.progress;
  const ImU32 colour = reason_colour(ui.theme, model.strings[copy.why]);
  ui.list->AddLine({x, a}, {x, b}, with_alpha(colour, 0.75f), 2.4f);
  const ImVec2 at(x, a + (b - a) * t);
  const float size = std::min(14.0f, packet_size(copy.bytes));
  draw_packet(ui, at, size, colour, packet.waits);
  if (!named || host.w <= 120) return;
  // The label stays between the rank's own cards, in as many words as fit.
  const float free = host.w / 2 - size / 2 - 23;
  const std::string bytes = human_bytes(copy.bytes);
  for (const std::string& words :
       {packet_label(trace, packet), bytes + "  " + model.strings[copy.why], bytes}) {
    if (ui.width(Type::strong, words) > free) continue;
    draw_packet_label(ui, {x, (a + b) / 2}, size, host, colour, words);
    break;
  }
}

void draw_rank_cards(const Ui& ui, const RingLayout& layout, App& app,
                     const OpenTrace& trace, const Underway& now) {
  for (size_t card = 0; card < layout.devices.size(); ++card) {
    const Rect &host = layout.hosts[card], &device = layout.devices[card];
    const float x = host.centre().x;
    const bool above = layout.is_top(card);
    ui.list->AddLine({x, above ? host.bottom() : host.y},
                     {x, above ? device.y : device.bottom()}, ui.theme.line, 1.4f);
    const int number = layout.shown[card];
    draw_rank_card(ui, {host, device, number, layout.compact}, trace, now);
    const float top = std::min(host.y, device.y);
    const Rect both{host.x, top, host.w,
                    std::max(host.bottom(), device.bottom()) - top};
    ImGui::PushID(static_cast<int>(card));
    bool hovered = false;
    if (ui.clicked("rank", both, &hovered) && &trace == &app.trace()) {
      app.focus_rank(trace.model->devices[number].rank);
    }
    if (hovered) ui.tooltip(rank_tip(ui, trace, number, now));
    ImGui::PopID();
  }
}

void draw_ring_stage(const Ui& ui, const Rect& room, App& app, OpenTrace& trace) {
  const Model& model = *trace.model;
  const Joints joints = joints_of(model);
  const RingLayout layout =
      lay_out_ring(room, joints.order, device_of_rank(model, trace.state.rank));
  const Underway& now = underway_shown(app, trace);
  const ImU32 colour =
      now.any() ? event_colour(ui.theme, model,
                               model.collectives[now.collective].events.front())
                : ui.theme.grey;
  draw_ring(ui, layout, colour, joints);
  if (layout.without_card() > 0) {
    draw_rank_strip(ui, layout, joints.order, app, trace);
    const ImVec2 at = layout.on_loop(layout.others);
    ui.text(at.x + 9, at.y - ui.line_height(Type::small) / 2, Type::small, ui.theme.dim,
            fmt::format("+{}", layout.without_card()));
  }
  draw_rank_cards(ui, layout, app, trace, now);
  draw_centre(ui, layout, trace, now, joints);
  draw_messages(ui, layout, room, trace, packets_shown(app, trace), joints);
}

}  // namespace lockstep::gui
