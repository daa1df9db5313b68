// Shows the host and devices, their current work, and the data that moves between them.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/units.h"
#include "gui/model/servers.h"
#include "gui/model/stage_messages.h"
#include "gui/panels/panels.h"
#include "gui/panels/stage_parts.h"
#include "gui/panels/widgets.h"

namespace lockstep::gui {

namespace {

constexpr float kLeastStage = 150;  ///< in points; below, there is no sentence

/// Returns the pairs of memories between which the trace moves data.
std::set<std::pair<int, int>> links_of(const OpenTrace& trace) {
  std::set<std::pair<int, int>> links;
  const Model& model = *trace.model;
  for (size_t i = 0; i < model.devices.size(); ++i) {
    links.emplace(kHostDevice, static_cast<int>(i));
  }
  const auto begin = std::lower_bound(
      model.copies.begin(), model.copies.end(), model.steps[trace.state.step].begin,
      [&](const Copy& copy, int64_t ts) { return model.events[copy.event].ts < ts; });
  constexpr std::ptrdiff_t kEnough = 4096;  // copies; the topology repeats
  for (auto at = begin; at != model.copies.end() && at - begin < kEnough; ++at) {
    if (at->src != kHostDevice && at->dst != kHostDevice && at->src != at->dst) {
      links.emplace(std::min(at->src, at->dst), std::max(at->src, at->dst));
    }
  }
  return links;
}

void draw_path(const Ui& ui, const Path& path, ImU32 colour, float width) {
  for (const auto& p : path.curves) {
    ui.list->AddBezierCubic(p[0], p[1], p[2], p[3], colour, width, 40);
  }
}

/// Draws the line between two rows of cards that joins the devices.
void draw_bus(const Ui& ui, const StageLayout& layout) {
  const float left = layout.cards.front().centre().x;
  const float right = layout.cards[(layout.cards.size() - 1) / 2].centre().x;
  ui.list->AddLine({left, layout.bus}, {right, layout.bus}, ui.theme.line, 4);
}

/// Says how many links share the bus.
void draw_bus_count(const Ui& ui, const StageLayout& layout, size_t links) {
  const std::string words = fmt::format("{} link{}", links, links == 1 ? "" : "s");
  const float wide = ui.width(Type::small, words) + 12;
  const Rect label{layout.host.centre().x - wide / 2, layout.bus - 9, wide, 18};
  ui.fill(label, ui.theme.panel, 5);
  ui.frame(label, ui.theme.line, 5);
  ui.text_centred(label, Type::small, ui.theme.dim, words);
}

/// Lights all links that the event uses, also those with nothing in flight now.
void draw_used_links(const Ui& ui, const StageLayout& layout, const Model& model,
                     const State& state) {
  for (const uint32_t index : state.links) {
    const Copy& copy = model.copies[index];
    const ImU32 colour = reason_colour(ui.theme, model.strings[copy.why]);
    draw_path(ui, path_between(layout, copy.src, copy.dst), with_alpha(colour, 0.45f),
              2.4f);
  }
}

void draw_flows(const Ui& ui, const StageLayout& layout, const OpenTrace& trace,
                const std::vector<Packet>& packets) {
  constexpr float kWaits = 0.07f;  // just outside the sender
  const Model& model = *trace.model;
  const auto colour_of = [&](const Packet& packet) {
    return reason_colour(ui.theme, model.strings[model.copies[packet.copy].why]);
  };
  const auto path_of = [&](const Packet& packet) {
    const Copy& copy = model.copies[packet.copy];
    return path_between(layout, copy.src, copy.dst);
  };
  for (const Packet& packet : packets) {
    if (packet.waits) continue;  // the link is lit as one that the event uses
    draw_path(ui, path_of(packet), with_alpha(colour_of(packet), 0.75f), 2.4f);
  }
  const auto at = [&](const Packet& packet) {
    return path_of(packet).at(packet.waits ? kWaits : packet.progress);
  };
  const auto bytes_of = [&](const Packet& packet) {
    return model.copies[packet.copy].bytes;
  };
  std::vector<Rect> taken = layout.cards;
  taken.push_back(layout.host);
  const Packet* named = nullptr;  // the largest one that moves; a single label suffices
  for (const Packet& packet : packets) {
    draw_packet(ui, at(packet), packet_size(bytes_of(packet)), colour_of(packet),
                packet.waits);
    const ImVec2 centre = at(packet);
    const float half = packet_size(bytes_of(packet)) / 2 + 2;
    taken.push_back({centre.x - half, centre.y - half, 2 * half, 2 * half});
    if (named == nullptr || std::pair(!packet.waits, bytes_of(packet)) >
                                std::pair(!named->waits, bytes_of(*named))) {
      named = &packet;
    }
  }
  if (named == nullptr) return;
  draw_packet_label(ui, at(*named), packet_size(bytes_of(*named)), layout.below,
                    colour_of(*named), packet_label(trace, *named), taken);
}

void draw_host(const Ui& ui, const Rect& r, const OpenTrace& trace) {
  const Theme& t = ui.theme;
  const Model& model = *trace.model;
  const State& state = trace.state;
  const Event& event = model.events[state.event];
  const bool acting = model.lanes[event.lane].is_host() && !event.is_task();
  ui.fill(r, t.raised, 8);
  ui.frame(r, acting ? t.accent : t.line, 8, acting ? 1.6f : 1);
  ui.text(r.x + 14, r.y + (r.h < 45 ? 5 : 9), Type::strong, t.text, "host");
  std::string doing;
  for (const Lane& lane : model.lanes) {
    if (!lane.is_host() || lane.rank != 0) continue;
    const uint32_t running = running_on(model, lane, state.now);
    if (running == kNoEvent) continue;
    doing = model.name_of(model.events[running]);
    break;
  }
  if (acting) doing = model.name_of(event);
  const float y = r.bottom() - ui.line_height(Type::small) - (r.h < 45 ? 5 : 9);
  ui.text_cut(r.x + 14, y, r.w - 28, Type::small, acting ? t.accent : t.dim,
              doing.empty() ? "idle" : doing);
  const int64_t out = state.host_out;
  if (out > 0) {
    const std::string text = "sent " + human_bytes(out);
    ui.text_right(r.right() - 14, r.y + (r.h < 45 ? 6 : 11), Type::small, t.faint,
                  text);
  }
}

std::string subtitle(const OpenTrace& trace) {
  const Model& model = *trace.model;
  const std::string mode = model.meta_text(top::mode);
  if (mode == "dp" || mode == "dp-features" || mode == "dp-criterion")
    return "star · device 0 is the root";
  if (const int servers = model.servers(); servers > 0) {
    const int workers = model.ranks() - servers;
    return fmt::format("{} worker{}, {} server{} · {} in focus", workers,
                       workers == 1 ? "" : "s", servers, servers == 1 ? "" : "s",
                       rank_title(model, trace.state.rank));
  }
  if (is_ring(model)) {
    if (is_chain(model)) {
      return fmt::format("pipeline of {} ranks · rank {} in focus", model.ranks(),
                         trace.state.rank);
    }
    bool recorded = false;
    ring_order(model, &recorded);
    return fmt::format("{}{}{} ranks · {} in focus", recorded ? "ring of " : "",
                       model.ranks(), represented(model),
                       rank_title(model, trace.state.rank));
  }
  if (has_shared_model(model)) {
    return fmt::format("{} worker{} train one model · worker {} in focus",
                       model.ranks(), model.ranks() == 1 ? "" : "s", trace.state.rank);
  }
  return model.devices.size() == 1 ? "one device" : "";
}

void draw_when(const Ui& ui, const Rect& room, const Rect& host,
               const OpenTrace& trace) {
  const State& state = trace.state;
  if (state.position.order != Order::program || state.effect_count == 0) return;
  const Event& event = trace.model->events[state.event];
  if (event.is_task()) return;
  const bool one = state.effect_count == 1;
  const float wide = host.x - room.x - 12;
  const std::string tasks =
      fmt::format("causes {} task{}", state.effect_count, one ? "" : "s");
  const std::string whole = tasks + " on devices";
  ui.text_cut(room.x, host.y + 6, wide, Type::small, ui.theme.dim,
              ui.width(Type::small, whole) <= wide ? whole : tasks);
  if (state.effects_after <= 0 || !trace.model->has_device_times()) return;
  const std::string later = human_time(state.effects_after) + " later";
  const std::string starts = (one ? "it starts " : "the first starts ") + later;
  ui.text_cut(room.x, host.y + 22, wide, Type::small, ui.theme.faint,
              ui.width(Type::small, starts) <= wide ? starts : later);
}

/// Returns which of the devices that share the last card is shown there: that of the
/// current event, else the first with something to do.
int device_of_last_card(const OpenTrace& trace, size_t cards) {
  const Model& model = *trace.model;
  const int first = static_cast<int>(cards) - 1;
  const auto count = static_cast<int>(model.devices.size());
  const int current = model.lanes[model.events[trace.state.event].lane].device;
  if (current >= first || count <= static_cast<int>(cards)) {
    return std::max(first, current);
  }
  for (int device = first; device < count; ++device) {
    const DeviceState& own = trace.state.devices[static_cast<size_t>(device)];
    const bool runs = std::ranges::any_of(
        own.running, [](uint32_t event) { return event != kNoEvent; });
    if (runs || own.effects.any()) return device;
  }
  return first;
}

}  // namespace

void draw_stage(const Ui& ui, const Rect& area, App& app, OpenTrace& trace) {
  const Model& model = *trace.model;
  const std::string note = subtitle(trace);
  Rect inside = ui.card(area, "STAGE", note);
  draw_reasons(ui, area.x + 35 + ui.width(Type::small, "STAGE"), area.y + 9,
               area.right() - 35 - ui.width(Type::small, note), trace);
  inside = {inside.x + 16, inside.y + 14, inside.w - 32, inside.h - 26};
  if (!app.settings.compare || app.traces().size() < 2) {
    const float high = narration_height(ui, inside.w, app);
    if (inside.h - high >= kLeastStage || trace.quiz.is_open()) {
      draw_narration(ui, inside.take_bottom(high), app);
      inside.take_bottom(6);
    }
  }
  constexpr float kTitle = 32;  // nothing is drawn over the title bar
  ui.list->PushClipRect({area.x, area.y + kTitle}, area.max(), true);
  if (model.devices.empty()) {
    ui.text_centred(inside, Type::body, ui.theme.faint,
                    "This trace names no devices; the timeline shows its events.");
    ui.list->PopClipRect();
    return;
  }
  if (has_server_stage(model) || is_ring(model)) {
    const auto draw = has_server_stage(model) ? draw_server_stage : draw_ring_stage;
    draw(ui, inside, app, trace);
    ui.list->PopClipRect();
    return;
  }
  const StageLayout layout = lay_out(inside, model.devices.size());
  size_t between_devices = 0;
  for (const auto& [from, to] : links_of(trace)) {
    draw_path(ui, path_between(layout, from, to), ui.theme.line, 1.4f);
    between_devices += from != kHostDevice;
  }
  const bool has_bus = layout.two_rows && between_devices > 0;
  if (has_bus) draw_bus(ui, layout);
  draw_used_links(ui, layout, model, trace.state);
  if (has_bus) draw_bus_count(ui, layout, between_devices);
  const auto draw_top = has_shared_model(model) ? draw_shared_model : draw_host;
  draw_top(ui, layout.host, trace);
  if (has_shared_model(model)) draw_below_shared_model(ui, layout.below, app, trace);
  draw_when(ui, inside, layout.host, trace);
  const int hot = busiest_device(trace);
  const size_t cards = layout.cards.size();
  for (size_t card = 0; card < cards; ++card) {
    const bool last = card + 1 == cards;
    const int device =
        last ? device_of_last_card(trace, cards) : static_cast<int>(card);
    draw_device_card(
        ui, layout.cards[card], trace, device,
        {layout.compact, device == hot, last ? model.devices.size() - cards : 0});
  }
  draw_flows(ui, layout, trace, packets_shown(app, trace));
  ui.list->PopClipRect();
}

}  // namespace lockstep::gui
