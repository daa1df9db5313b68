// The stage of parameter servers: workers above, servers below. Weights come up,
// gradients go down.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/units.h"
#include "gui/panels/panels.h"
#include "gui/panels/stage_parts.h"

namespace lockstep::gui {

namespace {

/// What the links need to know of the stage.
struct ServerScene {
  const RingLayout& layout;
  const Rect& room;
  int workers = 0;

  bool is_shown(int device) const { return layout.card[device] != RingLayout::kNoCard; }
  /// Returns the cards of workers, or of servers.
  std::pair<size_t, size_t> cards(bool above) const {
    size_t top = 0;
    while (top < layout.shown.size() && layout.is_top(top)) ++top;
    return above ? std::pair<size_t, size_t>(0, top)
                 : std::pair(top, layout.shown.size());
  }
  /// Returns whether a device without a card is left of those of its row that have one.
  bool is_left(int device) const {
    const auto [first, end] = cards(device < workers);
    return device < layout.shown[first];
  }
};

struct Link {
  ImVec2 from, to;
  ImVec2 at(float t) const {
    return {from.x + (to.x - from.x) * t, from.y + (to.y - from.y) * t};
  }
};

/// Returns where the links of a device's card end: on the side of the other row; of a
/// device without a card, at the edge of the stage.
ImVec2 port_of(const ServerScene& scene, int device) {
  const RingLayout& layout = scene.layout;
  const bool above = device < scene.workers;
  const size_t card =
      scene.is_shown(device) ? layout.card[device] : scene.cards(above).first;
  const Rect& own = layout.devices[card];
  const float y = above ? own.bottom() : own.y;
  if (scene.is_shown(device)) return {own.centre().x, y};
  return {scene.is_left(device) ? scene.room.x + 3 : scene.room.right() - 3,
          y + (above ? 12.0f : -12.0f)};
}

Link link_of(const ServerScene& scene, const Copy& copy) {
  return {port_of(scene, copy.src), port_of(scene, copy.dst)};
}

bool between_devices(const Copy& copy) {
  return copy.src != kHostDevice && copy.dst != kHostDevice;
}

/// Draws a line from every worker to every server that has a card.
void draw_links(const Ui& ui, const ServerScene& scene) {
  const auto [first, first_server] = scene.cards(true);
  for (size_t worker = first; worker < first_server; ++worker) {
    for (size_t server = first_server; server < scene.layout.shown.size(); ++server) {
      ui.list->AddLine(port_of(scene, scene.layout.shown[worker]),
                       port_of(scene, scene.layout.shown[server]), ui.theme.line, 1.4f);
    }
  }
}

/// Says at the ends of a row how many devices have no card there.
void draw_hidden(const Ui& ui, const ServerScene& scene, bool above, int begin,
                 int end) {
  const RingLayout& layout = scene.layout;
  const auto [first, behind] = scene.cards(above);
  const int left = layout.shown[first] - begin,
            right = end - 1 - layout.shown[behind - 1];
  const Rect& card = layout.devices[first];
  const float y = above ? card.bottom() + 6 : card.y - 6 - ui.line_height(Type::small);
  const auto words = [&](int count) {
    const char* what = above ? "worker" : "server";
    return fmt::format("+{} {}{}", count, what, count == 1 ? "" : "s");
  };
  const auto draw = [&](float x, const std::string& text) {
    ui.fill({x - 4, y - 1, ui.width(Type::small, text) + 8, 16}, ui.theme.panel, 4);
    ui.text(x, y, Type::small, ui.theme.dim, text);
  };
  if (left > 0) draw(scene.room.x + 6, words(left));
  if (right == 0) return;
  draw(scene.room.right() - 6 - ui.width(Type::small, words(right)), words(right));
}

void draw_pushes_and_pulls(const Ui& ui, const ServerScene& scene,
                           const OpenTrace& trace, const std::vector<Packet>& packets) {
  const Model& model = *trace.model;
  const Rect& room = scene.room;
  const auto is_drawn = [&](const Copy& copy) {
    return scene.is_shown(copy.src) || scene.is_shown(copy.dst);
  };
  const auto light = [&](const Copy& copy, float alpha) {
    if (!between_devices(copy) || !is_drawn(copy)) return;
    const Link link = link_of(scene, copy);
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
      if (!is_drawn(copy)) continue;
      ImVec2 at = link_of(scene, copy).at(packet.waits ? 0.14f : packet.progress);
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
    draw_host_copy(ui, scene.layout, trace, packet, fresh);
  }
}

}  // namespace

bool has_server_stage(const Model& model) {
  return model.servers() > 0 &&
         model.devices.size() == static_cast<size_t>(model.ranks());
}

void draw_server_stage(const Ui& ui, const Rect& room, App& app, OpenTrace& trace) {
  const Model& model = *trace.model;
  std::vector<int> order(model.devices.size());  // workers come first
  std::iota(order.begin(), order.end(), 0);
  const int all = model.ranks(), workers = all - model.servers();
  const RingLayout layout =
      lay_out_ring(room, order, trace.state.rank, static_cast<size_t>(workers));
  const ServerScene scene{layout, room, workers};
  draw_links(ui, scene);
  if (layout.without_card() > 0) draw_rank_strip(ui, layout, order, app, trace);
  draw_rank_cards(ui, layout, app, trace, underway_shown(app, trace));
  draw_pushes_and_pulls(ui, scene, trace, packets_shown(app, trace));
  if (layout.without_card() == 0) return;
  draw_hidden(ui, scene, true, 0, workers);
  draw_hidden(ui, scene, false, workers, all);
}

}  // namespace lockstep::gui
