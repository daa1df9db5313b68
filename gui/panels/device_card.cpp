#include "gui/panels/device_card.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "gui/panels/panels.h"
#include "tracer/analysis/units.h"

namespace lockstep::gui {

namespace {

/// What a device is busy with, in words; the event, and whether it is happening or an
/// effect that is yet to come.
struct Doing {
  std::string text;
  uint32_t event = kNoEvent;
  bool later = false;
};

std::string name_of_task(const Model& model, uint32_t index) {
  const Event& event = model.events[index];
  if (event.what() == Kind::copy) {
    const Copy* copy = model.copy_of(index);
    return model.strings[copy->why] + " from " + shown_device(model, copy->src);
  }
  return model.name_of(event);
}

Doing doing(const Seat& seat, int device) {
  const Model& model = *seat.model;
  const DeviceState& own = seat.state.devices[device];
  if (own.effects.any()) {
    const Effects& e = own.effects;
    if (e.kernels == 1 && e.copies_in + e.copies_out == 0) {
      return {name_of_task(model, e.first), e.first, true};
    }
    std::string text;
    if (e.kernels > 0) {
      text = fmt::format("{} kernel{}", e.kernels, e.kernels == 1 ? "" : "s");
    }
    if (e.copies_in > 0) {
      text += (text.empty() ? "" : ", ") + tracer::human_bytes(e.bytes_in) + " in";
    }
    if (e.copies_out > 0) {
      text += (text.empty() ? "" : ", ") + tracer::human_bytes(e.bytes_out) + " out";
    }
    return {text, e.first, true};
  }
  for (const int stream : {0, 2, 1}) {
    if (own.running[stream] != kNoEvent) {
      return {name_of_task(model, own.running[stream]), own.running[stream], false};
    }
  }
  return {};
}

void draw_memory(const Ui& ui, const Rect& r, const Memory& memory, int64_t scale) {
  ui.fill(r, ui.theme.sunken, 3);
  float x = r.x;
  for (size_t i = 0; i < memory.bytes.size(); ++i) {
    const float wide = r.w * static_cast<float>(static_cast<double>(memory.bytes[i]) /
                                                static_cast<double>(scale));
    if (wide < 0.5f) continue;
    ui.fill({x, r.y, std::min(wide, r.right() - x), r.h}, memory_colour(ui.theme, i));
    x += wide;
  }
}

/// The largest categories in words, beside their colours.
void draw_memory_legend(const Ui& ui, Rect r, const Memory& memory) {
  std::vector<size_t> order;
  for (size_t i = 0; i < memory.bytes.size(); ++i) {
    if (memory.bytes[i] > 0) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return memory.bytes[a] > memory.bytes[b];
  });
  for (const size_t i : order) {
    if (r.h < 15) return;
    const Rect line = r.take_top(15);
    ui.fill({line.x, line.y + 4, 7, 7}, memory_colour(ui.theme, i), 2);
    const std::string amount = tracer::human_bytes(memory.bytes[i]);
    const float wide = ui.width(Type::small, amount);
    ui.text_right(line.right(), line.y, Type::small, ui.theme.dim, amount);
    ui.text_cut(line.x + 12, line.y, line.w - 18 - wide, Type::small, ui.theme.dim,
                kMemoryCategories[i]);
  }
}

int64_t largest_memory(const Seat& seat) {
  int64_t most = 1;
  for (const DeviceState& device : seat.state.devices) {
    most = std::max(most, device.memory.total());
  }
  return most;
}

void draw_compact(const Ui& ui, const Rect& r, const Seat& seat, int device,
                  const std::string& name, const Doing& now) {
  const Theme& t = ui.theme;
  ui.text_cut(r.x + 8, r.y + 7, r.w - 14, Type::strong, t.text, name);
  const ImU32 ink = now.event == kNoEvent ? t.faint
                    : t.dark              ? event_colour(t, *seat.model, now.event)
                                          : t.text;
  if (r.h > 64) {
    ui.text_cut(r.x + 8, r.y + 25, r.w - 14, Type::small, ink,
                now.text.empty() ? "idle" : now.text);
  }
  const Memory& memory = seat.state.devices[device].memory;
  ui.text_cut(r.x + 8, r.bottom() - 32, r.w - 14, Type::small, t.dim,
              tracer::human_bytes(memory.total()));
  draw_memory(ui, {r.x + 8, r.bottom() - 14, r.w - 16, 7}, memory,
              largest_memory(seat));
}

/// A tenth of what the port carries in this step has passed: from then on it is hot.
bool is_felt(const Seat& seat, int device) {
  int64_t whole = 0;
  for (const PortBytes& port : seat.step.ports) {
    if (port.device == device) whole += port.bytes;
  }
  const DeviceState& own = seat.state.devices[device];
  const Effects& effects = own.effects;
  const int64_t moved =
      effects.any() ? effects.bytes_in + effects.bytes_out : own.in + own.out;
  return moved > whole / 10;
}

}  // namespace

int hot_device(const Seat& seat) {
  std::vector<int64_t> moved(seat.model->devices.size());
  int64_t all = 0;
  for (const PortBytes& port : seat.step.ports) {
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

void draw_device_card(const Ui& ui, const Rect& r, const Seat& seat, int device,
                      CardStyle style) {
  const Theme& t = ui.theme;
  const Model& model = *seat.model;
  const DeviceState& own = seat.state.devices[device];
  const Doing now = doing(seat, device);
  const bool lit = now.event != kNoEvent;
  const ImU32 colour = lit ? event_colour(t, model, now.event) : t.line;
  ui.fill({r.x, r.y + 2, r.w, r.h + 2}, t.shadow, 9);
  ui.fill(r, t.raised, 8);
  ui.frame(r, colour, 8, lit ? 1.8f : 1);

  std::string name = shown_device(model, device);
  if (style.group) {
    name = fmt::format("{} + {} more", name,
                       model.devices.size() - 1 - static_cast<size_t>(device));
  }
  if (style.compact) {
    draw_compact(ui, r, seat, device, name, now);
    return;
  }
  Rect room{r.x + 13, r.y + 10, r.w - 26, r.h - 20};
  const Rect head = room.take_top(22);
  ui.text_cut(head.x, head.y, head.w, Type::title, t.text, name);
  if (style.hot && is_felt(seat, device)) {
    const bool caused = own.effects.any();
    const int64_t out = caused ? own.effects.bytes_out : own.out;
    const int64_t in = caused ? own.effects.bytes_in : own.in;
    const std::string badge = out >= in ? "sent " + tracer::human_bytes(out)
                                        : "got " + tracer::human_bytes(in);
    const float wide = ui.width(Type::small, badge) + 14;
    if (wide + ui.width(Type::title, name) + 8 <= head.w) {
      const Rect box{head.right() - wide, head.y - 1, wide, 19};
      ui.fill(box, t.accent_ground, 9);
      ui.text_centred(box, Type::small, t.accent, badge);
    }
  }
  const Rect box = room.take_top(31);
  ui.fill(box, lit ? mixed(t.sunken, colour, t.dark ? 0.16f : 0.2f) : t.sunken, 5);
  const std::string text = now.text.empty() ? "idle" : now.text;
  ui.text_cut(box.x + 9, box.y + (box.h - ui.line_height(Type::body)) / 2, box.w - 16,
              Type::body, lit ? (t.dark ? colour : t.text) : t.faint, text);
  room.take_top(10);
  if (room.h < 34 || model.devices[device].memory.empty()) return;
  const Rect words = room.take_top(17);
  ui.text(words.x, words.y, Type::small, t.dim, "memory");
  ui.text_right(words.right(), words.y, Type::small, t.text,
                tracer::human_bytes(own.memory.total()));
  draw_memory(ui, room.take_top(9), own.memory, largest_memory(seat));
  room.take_top(7);
  draw_memory_legend(ui, room, own.memory);
}

}  // namespace lockstep::gui
