
#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "gui/model/details.h"
#include "gui/model/servers.h"
#include "gui/model/stage_messages.h"
#include "gui/panels/panels.h"
#include "gui/panels/stage_parts.h"
#include "gui/panels/widgets.h"
#include "tracer/format/keys.h"

namespace lockstep::gui {

namespace {

constexpr float kStreamWords = 13;  ///< least height of a stream that says what it runs

/// The current work of one stream.
struct StreamActivity {
  std::string text;
  ImU32 colour = 0;
  float share = 1;         ///< progress, 0 … 1
  bool lit = false;        ///< is running or caused by the current event
  int64_t in = 0;          ///< ns until it begins, for work that has not started
  bool waits = false;      ///< nothing runs, though work is enqueued
  std::string brief = {};  ///< if not empty, replaces a text that does not fit
  bool timed = true;       ///< `in` may be shown: it has a meaning
};

/// Returns the call or op that a rank's host executes, or a wait if there is none.
uint32_t host_event(const OpenTrace& trace, int rank) {
  const Model& model = *trace.model;
  const Event& event = model.events[trace.state.event];
  const Lane& own = model.lanes[event.lane];
  if (rank == trace.state.rank && own.is_host()) return trace.state.event;
  uint32_t waiting = kNoEvent;
  for (const Lane& lane : model.lanes) {
    if (!lane.is_host() || lane.rank != rank) continue;
    const uint32_t running = running_on(model, lane, trace.state.now);
    if (running == kNoEvent) continue;
    if (model.events[running].what() != Kind::sync) return running;
    if (waiting == kNoEvent) waiting = running;
  }
  return waiting;
}

/// Says of a rank whose file is missing what others would be wrong to say of it.
constexpr const char* kNotRecorded = "not recorded";

bool is_recorded(const Model& model, int rank) {
  return std::any_of(model.lanes.begin(), model.lanes.end(),
                     [rank](const Lane& lane) { return lane.rank == rank; });
}

/// Returns "host: backward" or, for a server, whose work is done in the workers'
/// threads, what it has: "22.3 MB of weights".
std::string host_words(const OpenTrace& trace, int rank) {
  const Model& model = *trace.model;
  if (!is_recorded(model, rank)) return kNotRecorded;
  const uint32_t event = host_event(trace, rank);
  if (event != kNoEvent) return "host: " + model.name_of(model.events[event]);
  const int first_server = model.ranks() - model.servers();
  if (rank < first_server) return "host: idle";
  for (size_t i = 0; i < model.devices.size(); ++i) {
    const int64_t bytes = weights_of_server(model, static_cast<int>(i));
    if (model.devices[i].rank != rank || bytes == 0) continue;
    return human_bytes(bytes) + " of weights";
  }
  return "host: idle";
}

/// Returns what a rank that is a server owns, or nullptr.
const tracer::OwnedParameters* owned_by(const OpenTrace& trace, int rank) {
  const Model& model = *trace.model;
  const int server = rank - (model.ranks() - model.servers());
  const bool known = server >= 0 && server < static_cast<int>(trace.owned.size());
  return known ? &trace.owned[static_cast<size_t>(server)] : nullptr;
}

/// Returns "owns 30 parameters:" and a line for each; of more than `most`, for the
/// first ones and the last one.
std::string owned_lines(const tracer::OwnedParameters& owned, size_t most) {
  std::string text =
      fmt::format("owns {} parameter{}:", owned.size(), owned.size() == 1 ? "" : "s");
  const size_t first = owned.size() > most ? most - 1 : owned.size();
  for (size_t i = 0; i < first; ++i) text += "\n  " + owned_words(owned[i]);
  if (first == owned.size()) return text;
  const size_t between = owned.size() - first - 1;
  return text + fmt::format("\n  … {} more\n  {}", between, owned_words(owned.back()));
}

void draw_host_strip(const Ui& ui, const Rect& r, const OpenTrace& trace, int rank) {
  const Theme& t = ui.theme;
  const bool focus = rank == trace.state.rank;
  ui.fill(r, focus ? t.accent_background : t.raised, 6);
  ui.frame(r, focus ? t.accent : t.line, 6, focus ? 1.6f : 1);
  const std::string name = rank_title(*trace.model, rank);
  const float pad = r.w < 70 ? 4 : r.w < 90 ? 6 : 11;
  const Type type = r.w < 70 ? Type::small : Type::strong;
  const float used = ui.text_cut(r.x + pad, r.y + (r.h - ui.line_height(type)) / 2,
                                 r.w - 2 * pad, type, focus ? t.accent : t.text, name);
  const float x = r.x + pad + used + 10;
  if (r.right() - pad - x < 40) return;
  const float small = r.y + (r.h - ui.line_height(Type::small)) / 2;
  const float room = r.right() - pad - x;
  std::string words = host_words(trace, rank);
  if (ui.width(Type::small, words) > room) words = words.substr(0, words.find(" of "));
  ui.text_cut(x, small, room, Type::small, focus ? t.text : t.dim, words);
}

StreamActivity compute_of(const Ui& ui, const OpenTrace& trace, int device) {
  const Model& model = *trace.model;
  const DeviceState& own = trace.state.devices[device];
  if (!is_recorded(model, model.devices[device].rank)) {
    return {kNotRecorded, ui.theme.faint, 0, false};
  }
  const auto named = [&](uint32_t event) {
    return StreamActivity{task_name(model, event),
                          event_colour(ui.theme, model, event),
                          1,
                          true,
                          time_until(trace, event),
                          false,
                          {},
                          model.has_device_times()};
  };
  const Effects& e = own.effects;
  if (e.kernels > 0) {
    StreamActivity busy = named(e.first_kernel);
    if (e.kernels > 1) busy.text = fmt::format("{} kernels", e.kernels);
    return busy;
  }
  for (const int stream : {0, 1}) {
    if (own.running[stream] != kNoEvent) return named(own.running[stream]);
  }
  const Waiting waiting = waiting_on(model, device, trace.state.now);
  const bool waits = waiting.cause != Waiting::For::nothing;
  return {waiting_words(model, waiting),      ui.theme.faint, 0, false, 0, waits,
          brief_waiting_words(model, waiting)};
}

StreamActivity comm_of(const Ui& ui, const OpenTrace& trace, int device, bool brief,
                       const Underway& now) {
  const Model& model = *trace.model;
  const State& state = trace.state;
  const DeviceState& own = state.devices[device];
  if (now.any() && now.to_come) {
    for (const uint32_t part : model.collectives[now.collective].events) {
      if (model.lanes[model.events[part].lane].device != device) continue;
      const double share = static_cast<double>(now.arrived) /
                           static_cast<double>(std::max<size_t>(1, now.messages));
      return {collective_label(model, part, brief),
              event_colour(ui.theme, model, part),
              static_cast<float>(share),
              true,
              time_until(trace, part),
              false,
              {},
              model.has_device_times()};
    }
  }
  if (own.collective != kNoEvent) {
    const Event& event = model.events[own.collective];
    const double share = static_cast<double>(state.now - event.ts) /
                         static_cast<double>(std::max<int64_t>(1, event.dur));
    return {collective_label(model, own.collective, brief),
            event_colour(ui.theme, model, own.collective),
            std::clamp(static_cast<float>(share), 0.0f, 1.0f), true};
  }
  if (own.running[2] != kNoEvent) {
    return {task_name(model, own.running[2]),
            event_colour(ui.theme, model, own.running[2]), 1, true};
  }
  const bool known = is_recorded(model, model.devices[device].rank);
  return {known ? "idle" : kNotRecorded, ui.theme.faint, 0, false};
}

/// Draws one stream: its name, task and progress. Work that has not started is only
/// outlined, because the other streams show what runs at the host's current time.
void draw_stream(const Ui& ui, const Rect& r, const char* stream,
                 const StreamActivity& busy) {
  const Theme& t = ui.theme;
  const bool runs = busy.lit && busy.in <= 0;
  const ImU32 ground =
      runs ? mixed(t.sunken, busy.colour, t.dark ? 0.24f : 0.26f) : t.sunken;
  ui.fill(r, t.sunken, 4);
  if (busy.lit && busy.in > 0) {
    ui.frame(r, mixed(t.sunken, busy.colour, 0.55f), 4);
  } else if (busy.lit) {
    ui.fill(r, ground, 4);
  } else if (busy.waits) {
    ui.hatch(r, t.waiting);
  }
  if (busy.lit) {
    const float line = r.h > 16 ? 3.0f : 2.0f;
    if (busy.share < 1) {
      ui.fill({r.x, r.bottom() - line, std::max(3.0f, r.w * busy.share), line},
              busy.colour, 1.5f);
    } else {
      ui.fill({r.x, r.y + 3, 3, r.h - 6}, busy.colour, 1.5f);
    }
  }
  const float y = r.y + (r.h - ui.line_height(Type::small)) / 2;
  float x = r.x + 8;
  if (r.h < kStreamWords || r.w < 50) return;
  if (r.w > 168) {
    ui.text(x, y, Type::small, readable(t.faint, ground), stream);
    x += 54;
  }
  const bool ahead = busy.waits || busy.in > 0;
  const ImU32 ink = ahead ? t.dim : busy.lit ? t.text : t.faint;
  float room = r.right() - x - 6;
  if (busy.in > 0 && busy.timed) room -= draw_delay(ui, r, busy.in, room);
  const bool fits = busy.brief.empty() || ui.width(Type::small, busy.text) <= room;
  ui.text_cut(x, y, room, Type::small, ink, fits ? busy.text : busy.brief);
}

/// Draws the names of the largest categories, side by side if the card is wide.
void draw_memory_words(const Ui& ui, const Rect& room, const Memory& memory) {
  if (room.w < 280 || room.h > 90) {
    draw_memory_legend(ui, room, memory);
    return;
  }
  float x = room.x;
  for (const size_t i : by_size(memory)) {
    const char* name = tracer::memory_categories[i];
    const float wide = ui.width(Type::small, name);
    if (x + 11 + wide > room.right()) break;
    ui.fill({x, room.y + 4, 7, 7}, memory_colour(ui.theme, i), 2);
    ui.text(x + 11, room.y, Type::small, ui.theme.dim, name);
    x += 11 + wide + 12;
  }
}

/// Draws from which parameter to which a server owns them: on a line or, if they do not
/// fit and there is room, on two.
void draw_owned(const Ui& ui, Rect& room, const tracer::OwnedParameters& owned) {
  const std::string words = owned_words(owned);
  const bool cut = ui.width(Type::small, words) > room.w && owned.size() > 1;
  if (!cut || room.h < 66) {
    const Rect line = room.take_top(18);
    ui.text_cut(line.x, line.y, line.w, Type::small, ui.theme.dim, words);
    return;
  }
  const Rect lines = room.take_top(32);
  ui.text_cut(lines.x, lines.y, lines.w, Type::small, ui.theme.dim,
              owned_words(owned.front()) + " to");
  ui.text_cut(lines.x, lines.y + 14, lines.w, Type::small, ui.theme.dim,
              owned_words(owned.back()));
}

void draw_head(const Ui& ui, Rect& room, const OpenTrace& trace, int device,
               bool compact) {
  const Theme& t = ui.theme;
  const Model& model = *trace.model;
  const Memory& memory = trace.state.devices[device].memory;
  const Rect head = room.take_top(compact ? 17 : 20);
  const Type type = room.w < 60 ? Type::small : compact ? Type::body : Type::strong;
  const std::string amount = memory_amount(trace.state.devices[device]);
  const bool known = !model.devices[device].memory.empty();
  const float wide = known ? ui.width(Type::small, amount) : 0;
  const int64_t id = model.devices[device].id;
  std::string name = device_label(model, device);
  if (room.w < 60) name = fmt::format("dev {}", id);
  if (ui.width(type, name) > head.w) name = std::to_string(id);
  const float used = ui.text_cut(head.x, head.y, head.w, type, t.text, name);
  if (known && used + wide + 8 <= head.w) {
    ui.text_right(head.right(), head.y + 1, Type::small, t.dim, amount);
  }
  const float bar = compact ? 5 : 7, below = compact ? 5 : 8;
  if (!known || room.h < bar + below + kStreamWords) return;  // what runs comes first
  draw_memory(ui, room.take_top(bar), memory, largest_memory(trace));
  room.take_top(below);
}

}  // namespace

std::string collective_label(const Model& model, uint32_t event, bool brief) {
  if (const auto message = stage_message(model, event)) {
    return (brief ? "" : message->receives ? "receives " : "sends ") + message->what();
  }
  const CollectiveArgs own(model, event);
  std::string text(own.facts.collective);
  if (text.empty()) text = model.name_of(model.events[event]);
  if (own.facts.bucket >= 0) {
    return (brief ? "" : text + " · ") + fmt::format("bucket {}", own.facts.bucket);
  }
  const std::string why(own.facts.why);
  if (brief && !why.empty()) return why;
  if (!why.empty() && why != text) return text + " · " + why;
  const std::string tensor(own.facts.tensor);
  return tensor.empty() ? text : text + " · " + tensor;
}

std::string rank_tip(const Ui& ui, const OpenTrace& trace, int device,
                     const Underway& now) {
  const Model& model = *trace.model;
  const DeviceState& own = trace.state.devices[device];
  std::string tip = fmt::format(
      "{}, {}\n{}\ncompute: {}\ncomm: {}",
      rank_title(model, model.devices[device].rank), device_label(model, device),
      host_words(trace, model.devices[device].rank), compute_of(ui, trace, device).text,
      comm_of(ui, trace, device, false, now).text);
  const auto* owned = owned_by(trace, model.devices[device].rank);
  if (owned != nullptr) tip += "\n" + owned_lines(*owned, 12);
  if (!model.devices[device].memory.empty()) {
    tip += fmt::format("\n{}: {}", memory_label(own), human_bytes(own.memory.total()));
  }
  if (!has_program(model, model.devices[device].rank)) return tip;
  return tip + "\nclick: show this rank's program  (r)";
}

void draw_rank_card(const Ui& ui, const RankCard& card, const OpenTrace& trace,
                    const Underway& now) {
  const Theme& t = ui.theme;
  const int rank = trace.model->devices[card.number].rank;
  draw_host_strip(ui, card.host, trace, rank);
  const bool low = card.device.h < 76;  // place the streams side by side
  const bool brief = card.device.w < (low ? 320 : 180);
  const StreamActivity compute = compute_of(ui, trace, card.number);
  const StreamActivity comm = comm_of(ui, trace, card.number, brief, now);
  const Rect& r = card.device;
  ui.fill({r.x, r.y + 2, r.w, r.h + 2}, t.shadow, 9);
  ui.fill(r, t.raised, 8);
  const ImU32 edge = comm.lit ? comm.colour : compute.lit ? compute.colour : t.line;
  ui.frame(r, edge, 8, comm.lit || compute.lit ? 1.8f : 1);
  const float pad = card.compact ? 7 : 12;
  if (r.h < 40) {  // only its name and memory in words
    const float y = r.y + (r.h - ui.line_height(Type::small)) / 2;
    const std::string amount =
        human_bytes(trace.state.devices[card.number].memory.total());
    ui.text_right(r.right() - pad, y, Type::small, t.dim, amount);
    ui.text_cut(r.x + pad, y, r.w - 3 * pad - ui.width(Type::small, amount),
                Type::small, t.text, device_label(*trace.model, card.number));
    return;
  }
  Rect room{r.x + pad, r.y + (r.h < 100 ? 6 : 10), r.w - 2 * pad,
            r.h - (r.h < 100 ? 11 : 18)};
  draw_head(ui, room, trace, card.number, card.compact);
  const tracer::OwnedParameters* owned = owned_by(trace, rank);
  if (owned != nullptr && room.h > 62) draw_owned(ui, room, *owned);
  const bool words = room.h > 66 && room.w > 110 &&
                     trace.state.devices[card.number].memory.total() > 0;
  if (room.h < 32 && room.w > 150) {  // low and wide
    const float high = std::min(room.h, 20.0f);
    const Rect left{room.x, room.y, room.w / 2 - 3, high};
    const Rect right{room.x + room.w / 2 + 3, room.y, room.w / 2 - 3, high};
    draw_stream(ui, left, "compute", compute);
    draw_stream(ui, right, "comm", comm);
    return;
  }
  const float stream = std::clamp((room.h - 4 - (words ? 22 : 0)) / 2, 6.0f, 30.0f);
  draw_stream(ui, room.take_top(stream), "compute", compute);
  room.take_top(4);
  draw_stream(ui, room.take_top(stream), "comm", comm);
  room.take_top(7);
  const Memory& memory = trace.state.devices[card.number].memory;
  if (words && room.h >= 14) draw_memory_words(ui, room, memory);
}

}  // namespace lockstep::gui
