// The stage of parameter servers: workers above, servers below. Weights come up,
// gradients go down.
#include <algorithm>
#include <numeric>
#include <vector>

#include "base/units.h"
#include "gui/panels/panels.h"
#include "gui/panels/stage_parts.h"

namespace lockstep::gui {

namespace {

struct Link {
  ImVec2 from, to;
  ImVec2 at(float t) const {
    return {from.x + (to.x - from.x) * t, from.y + (to.y - from.y) * t};
  }
};

/// Returns where the links of a device's card end: on the side of the other row.
ImVec2 port_of(const RingLayout& layout, int device) {
  const size_t card = layout.card[device];
  const Rect& own = layout.devices[card];
  return {own.centre().x, layout.is_top(card) ? own.bottom() : own.y};
}

Link link_of(const RingLayout& layout, const Copy& copy) {
  return {port_of(layout, copy.src), port_of(layout, copy.dst)};
}

bool between_devices(const Copy& copy) {
  return copy.src != kHostDevice && copy.dst != kHostDevice;
}

/// Draws a line from every worker to every server.
void draw_links(const Ui& ui, const RingLayout& layout, size_t workers) {
  for (size_t worker = 0; worker < workers; ++worker) {
    for (size_t server = workers; server < layout.shown.size(); ++server) {
      ui.list->AddLine(port_of(layout, layout.shown[worker]),
                       port_of(layout, layout.shown[server]), ui.theme.line, 1.4f);
    }
  }
}

void draw_pushes_and_pulls(const Ui& ui, const RingLayout& layout, const Rect& room,
                           const OpenTrace& trace, const std::vector<Packet>& packets) {
  const Model& model = *trace.model;
  const auto light = [&](const Copy& copy, float alpha) {
    if (!between_devices(copy)) return;
    const Link link = link_of(layout, copy);
    const ImU32 colour = reason_colour(ui.theme, model.strings[copy.why]);
    ui.list->AddLine(link.from, link.to, with_alpha(colour, alpha), 2.4f);
  };
  for (const uint32_t link : trace.state.links) light(model.copies[link], 0.4f);
  for (const Packet& packet : packets) light(model.copies[packet.copy], 0.75f);
  std::vector<int> named;  // one label per device
  for (const Packet& packet : packets) {
    const Copy& copy = model.copies[packet.copy];
    const ImU32 colour = reason_colour(ui.theme, model.strings[copy.why]);
    if (between_devices(copy)) {
      ImVec2 at = link_of(layout, copy).at(packet.waits ? 0.14f : packet.progress);
      const std::string words =
          packets.size() == 1 ? packet_label(trace, packet) : human_bytes(copy.bytes);
      const float half = ui.width(Type::small, words) / 2 + 7;
      at.x =
          std::clamp(at.x, room.x + half, std::max(room.x + half, room.right() - half));
      draw_pill(ui, at, colour, words, packet.waits);
      continue;
    }
    const int device = std::max(copy.src, copy.dst);
    const bool fresh = std::find(named.begin(), named.end(), device) == named.end();
    named.push_back(device);
    draw_host_copy(ui, layout, trace, packet, fresh);
  }
}

}  // namespace

bool has_server_stage(const Model& model) {
  return model.servers() > 0 && model.devices.size() <= kMaxCards &&
         model.devices.size() == static_cast<size_t>(model.ranks());
}

void draw_server_stage(const Ui& ui, const Rect& room, App& app, OpenTrace& trace) {
  const Model& model = *trace.model;
  std::vector<int> order(model.devices.size());  // workers come first
  std::iota(order.begin(), order.end(), 0);
  const auto workers = static_cast<size_t>(model.ranks() - model.servers());
  const RingLayout layout = lay_out_ring(room, order, 0, workers);
  draw_links(ui, layout, workers);
  draw_rank_cards(ui, layout, app, trace, underway_shown(app, trace));
  draw_pushes_and_pulls(ui, layout, room, trace, packets_shown(app, trace));
}

}  // namespace lockstep::gui
