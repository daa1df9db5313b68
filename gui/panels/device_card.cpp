#include "gui/panels/stage_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/units.h"
#include "gui/panels/panels.h"
#include "gui/panels/widgets.h"

namespace lockstep::gui {

namespace {

/// A description of a device's current work, its event, and, for an effect that has not
/// started, the time until it begins.
struct Activity {
  std::string text;
  uint32_t event = kNoEvent;
  int64_t in = 0;
  bool waits = false;      ///< nothing runs, though work is enqueued
  std::string brief = {};  ///< if not empty, replaces a text that does not fit
  bool timed = true;       ///< `in` may be shown: it has a meaning
};

const std::string& words_for(const Ui& ui, Type type, float room, const Activity& now) {
  const bool fits = now.brief.empty() || ui.width(type, now.text) <= room;
  return fits ? now.text : now.brief;
}

/// Draws a text in one small line, or in two: broken at a space, or above `second`.
void draw_small_lines(const Ui& ui, float x, float y, float room, ImU32 ink,
                      const Activity& now, const std::string& second = {}) {
  const float line = ui.line_height(Type::small);
  if (!second.empty()) {
    ui.text_cut(x, y, room, Type::small, ink, words_for(ui, Type::small, room, now));
    ui.text_cut(x, y + line, room, Type::small, ui.theme.dim, second);
    return;
  }
  size_t end = now.text.size();
  const size_t comma = now.text.find(", ");
  const bool at_comma = comma != std::string::npos &&
                        ui.width(Type::small, now.text) > room &&
                        ui.width(Type::small, now.text.substr(0, comma + 1)) <= room;
  if (at_comma) end = comma + 1;
  while (end != std::string::npos && end > 0 &&
         ui.width(Type::small, now.text.substr(0, end)) > room) {
    end = now.text.rfind(' ', end - 1);
  }
  if (end == std::string::npos || end == 0 || end == now.text.size()) {
    const float down = end == now.text.size() ? line / 2 : 0;
    ui.text_cut(x, y + down, room, Type::small, ink,
                words_for(ui, Type::small, room, now));
    return;
  }
  ui.text(x, y, Type::small, ink, now.text.substr(0, end));
  ui.text_cut(x, y + line, room, Type::small, ink, now.text.substr(end + 1));
}

/// Draws what a device does in one line or, where that is too long, in two smaller
/// ones.
void draw_activity(const Ui& ui, const Rect& box, const Activity& now, ImU32 ink) {
  const bool delayed = now.in > 0 && now.timed;
  const std::string delay = delayed ? "starts in " + human_time(now.in) : "";
  const float room = box.w - 16;
  const float beside = delay.empty() ? 0 : ui.width(Type::small, delay) + 8;
  if (ui.width(Type::body, now.text) <= room - beside) {
    if (delayed) draw_delay(ui, box, now.in, 2 * beside + 1);
    ui.text(box.x + 9, box.y + (box.h - ui.line_height(Type::body)) / 2, Type::body,
            ink, now.text);
    return;
  }
  const float top = box.y + (box.h - 2 * ui.line_height(Type::small)) / 2;
  draw_small_lines(ui, box.x + 9, top, room, ink, now, delay);
}

Activity activity_of(const OpenTrace& trace, int device) {
  const Model& model = *trace.model;
  const DeviceState& own = trace.state.devices[device];
  if (own.effects.any()) {
    const Effects& e = own.effects;
    if (e.kernels == 1 && e.copies_in + e.copies_out == 0) {
      return {task_name(model, e.first), e.first, time_until(trace, e.first), false, {},
              model.has_device_times()};
    }
    std::string text;
    if (e.kernels > 0) {
      text = fmt::format("{} kernel{}", e.kernels, e.kernels == 1 ? "" : "s");
    }
    if (e.copies_in > 0) {
      text += (text.empty() ? "" : ", ") + human_bytes(e.bytes_in) + " in";
    }
    if (e.copies_out > 0) {
      text += (text.empty() ? "" : ", ") + human_bytes(e.bytes_out) + " out";
    }
    const std::string first = text.substr(0, text.find(", "));
    return {text,  e.first, time_until(trace, e.first),
            false, first,   model.has_device_times()};
  }
  for (const int stream : {0, 2, 1}) {
    if (own.running[stream] != kNoEvent) {
      return {task_name(model, own.running[stream]), own.running[stream]};
    }
  }
  const Waiting waiting = waiting_on(model, device, trace.state.now);
  const bool waits = waiting.cause != Waiting::For::nothing;
  return {waiting_words(model, waiting), kNoEvent, 0, waits,
          brief_waiting_words(model, waiting)};
}

/// Returns the name of a card that stands for a device and `others`, as short as
/// needed: "device 15 + 48 more", "dev 15 +48", "15 +48", "+49".
std::string title_of(const Ui& ui, Type type, float room, const std::string& label,
                     size_t others) {
  const std::string number = label.substr(label.rfind(' ') + 1);
  const std::string more = others > 0 ? fmt::format(" +{}", others) : "";
  const std::string whole =
      others > 0 ? fmt::format("{} + {} more", label, others) : label;
  for (const std::string& name : {whole, "dev " + number + more}) {
    if (ui.width(type, name) <= room) return name;
  }
  const std::string brief = number + more;
  if (others == 0 || ui.width(type, brief) <= room) return brief;
  return fmt::format("+{}", others + 1);
}

void draw_compact(const Ui& ui, const Rect& r, const OpenTrace& trace, int device,
                  const std::string& name, const Activity& now) {
  const Theme& t = ui.theme;
  ui.text_cut(r.x + 8, r.y + 7, r.w - 14, Type::strong, t.text, name);
  const ImU32 ink = now.waits               ? t.dim
                    : now.event == kNoEvent ? t.faint
                    : t.dark
                        ? readable(event_colour(t, *trace.model, now.event), t.raised)
                        : t.text;
  const bool low = r.h <= 64;  // then what runs takes the place of the memory's amount
  const bool two_lines = r.h > 84 && ui.width(Type::small, now.text) > r.w - 14;
  if (two_lines) {
    draw_small_lines(ui, r.x + 8, r.y + 25, r.w - 14, ink, now);
  } else {
    ui.text_cut(r.x + 8, low ? r.bottom() - 32 : r.y + 25, r.w - 14, Type::small, ink,
                words_for(ui, Type::small, r.w - 14, now));
  }
  if (trace.model->devices[device].memory.empty()) return;
  const Memory& memory = trace.state.devices[device].memory;
  if (!low) {
    std::string amount = memory_amount(trace.state.devices[device]);
    if (ui.width(Type::small, amount) > r.w - 14) amount = human_bytes(memory.total());
    ui.text_cut(r.x + 8, r.bottom() - 32, r.w - 14, Type::small, t.dim, amount);
  }
  draw_memory(ui, {r.x + 8, r.bottom() - 14, r.w - 16, 7}, memory,
              largest_memory(trace));
}

/// Returns true once over a tenth of the port's bytes in this step have been
/// transferred.
bool is_port_busy(const OpenTrace& trace, int device) {
  int64_t whole = 0;
  for (const PortBytes& port : trace.step.ports) {
    if (port.device == device) whole += port.bytes;
  }
  const DeviceState& own = trace.state.devices[device];
  const Effects& effects = own.effects;
  const int64_t moved =
      effects.any() ? effects.bytes_in + effects.bytes_out : own.in + own.out;
  return moved > whole / 10;
}

}  // namespace

int busiest_device(const OpenTrace& trace) {
  std::vector<int64_t> moved(trace.model->devices.size());
  int64_t all = 0;
  for (const PortBytes& port : trace.step.ports) {
    if (port.device == kHostDevice) continue;
    moved[port.device] += port.bytes;
    all += port.bytes;
  }
  if (moved.size() < 2 || all == 0) return kHostDevice;
  const auto most = std::max_element(moved.begin(), moved.end());
  const double mean = static_cast<double>(all) / static_cast<double>(moved.size());
  if (static_cast<double>(*most) < 1.5 * mean) return kHostDevice;
  return static_cast<int>(most - moved.begin());
}

void draw_device_card(const Ui& ui, const Rect& r, const OpenTrace& trace, int device,
                      CardStyle style) {
  const Theme& t = ui.theme;
  const Model& model = *trace.model;
  const DeviceState& own = trace.state.devices[device];
  const Activity now = activity_of(trace, device);
  ImGui::PushID(device);
  bool hovered = false;
  ui.clicked("device", r, &hovered);
  if (hovered) {
    ui.tooltip(fmt::format("{}: {}\n{}: {}", device_label(model, device), now.text,
                           memory_label(own), human_bytes(own.memory.total())));
  }
  ImGui::PopID();
  const bool lit = now.event != kNoEvent;
  const ImU32 colour = lit ? event_colour(t, model, now.event) : t.line;
  ui.fill({r.x, r.y + 2, r.w, r.h + 2}, t.shadow, 9);
  ui.fill(r, t.raised, 8);
  ui.frame(r, colour, 8, lit ? 1.8f : 1);

  const float title = style.compact ? r.w - 14 : r.w - 26;
  const std::string name = title_of(ui, style.compact ? Type::strong : Type::title,
                                    title, device_label(model, device), style.others);
  if (style.compact) {
    draw_compact(ui, r, trace, device, name, now);
    return;
  }
  Rect room{r.x + 13, r.y + 10, r.w - 26, r.h - 20};
  const Rect head = room.take_top(22);
  ui.text_cut(head.x, head.y, head.w, Type::title, t.text, name);
  if (style.hot && is_port_busy(trace, device)) {
    const bool caused = own.effects.any();
    const int64_t out = caused ? own.effects.bytes_out : own.out;
    const int64_t in = caused ? own.effects.bytes_in : own.in;
    const std::string badge =  // what a call launches has not moved yet
        out >= in ? (caused ? "sends " : "sent ") + human_bytes(out)
                  : (caused ? "gets " : "got ") + human_bytes(in);
    const float wide = ui.width(Type::small, badge) + 14;
    if (wide + ui.width(Type::title, name) + 8 <= head.w) {
      const Rect box{head.right() - wide, head.y - 1, wide, 19};
      ui.fill(box, t.accent_background, 9);
      ui.text_centred(box, Type::small, t.accent, badge);
    }
  }
  const Rect box = room.take_top(31);
  const bool runs = lit && now.in <= 0;
  const ImU32 ground = runs ? mixed(t.sunken, colour, t.dark ? 0.16f : 0.2f) : t.sunken;
  ui.fill(box, ground, 5);
  if (lit && !runs) ui.frame(box, mixed(t.sunken, colour, 0.55f), 5);
  if (now.waits) ui.hatch(box, t.waiting);
  draw_activity(ui, box, now,
                lit         ? (t.dark ? readable(colour, ground) : t.text)
                : now.waits ? t.dim
                            : t.faint);
  room.take_top(10);
  if (room.h < 34 || model.devices[device].memory.empty()) return;
  const Rect words = room.take_top(17);
  const std::string amount = human_bytes(own.memory.total());
  ui.text_right(words.right(), words.y, Type::small, t.text, amount);
  const float left = words.w - ui.width(Type::small, amount) - 6;
  const std::string label = memory_label(own);
  const std::string low = own.as_queued ? "queued" : "memory";
  for (const std::string& text : {label, low}) {
    if (ui.width(Type::small, text) > left) continue;
    ui.text(words.x, words.y, Type::small, t.dim, text);
    break;
  }
  draw_memory(ui, room.take_top(9), own.memory, largest_memory(trace));
  room.take_top(7);
  draw_memory_legend(ui, room, own.memory);
}

}  // namespace lockstep::gui
