#include "gui/panels/stage_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/units.h"
#include "gui/model/details.h"
#include "gui/panels/panels.h"
#include "gui/panels/widgets.h"

namespace lockstep::gui {

namespace {

/// Returns the index in Model::strings of an event's name or of a copy's reason.
uint32_t waited_name(const Model& model, uint32_t event) {
  const Copy* copy = model.copy_of(event);
  return copy != nullptr ? copy->why : model.events[event].name;
}

}  // namespace

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

std::vector<size_t> by_size(const Memory& memory) {
  std::vector<size_t> order;
  for (size_t i = 0; i < memory.bytes.size(); ++i) {
    if (memory.bytes[i] > 0) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return memory.bytes[a] > memory.bytes[b];
  });
  return order;
}

constexpr float kBeforeAmount = 3;  ///< points

void draw_memory_legend(const Ui& ui, Rect r, const Memory& memory) {
  for (const size_t i : by_size(memory)) {
    if (r.h < 15) return;
    const Rect line = r.take_top(15);
    ui.fill({line.x, line.y + 4, 7, 7}, memory_colour(ui.theme, i), 2);
    const std::string amount = human_bytes(memory.bytes[i]);
    const float wide = ui.width(Type::small, amount);
    std::string_view name = tracer::memory_categories[i];
    const auto fits = [&] {
      return ui.width(Type::small, name) + wide + 12 + kBeforeAmount <= line.w;
    };
    if (!fits() && name == "parameters") name = "params";
    // In a narrow card a whole name is worth more than half of one and an amount.
    const bool both = fits();
    if (both) ui.text_right(line.right(), line.y, Type::small, ui.theme.dim, amount);
    ui.text_cut(line.x + 12, line.y, line.w - 12 - (both ? wide : 0), Type::small,
                ui.theme.dim, name);
  }
}

int64_t largest_memory(const OpenTrace& trace) {
  int64_t most = 1;
  for (const DeviceState& device : trace.state.devices) {
    most = std::max(most, device.memory.total());
  }
  return most;
}

const char* memory_label(const DeviceState& device) {
  return device.as_queued ? "memory as queued" : "memory";
}

std::string memory_amount(const DeviceState& device) {
  return human_bytes(device.memory.total()) + (device.as_queued ? " queued" : "");
}

std::string task_name(const Model& model, uint32_t index) {
  const Event& event = model.events[index];
  if (event.what() == Kind::copy) {
    const Copy* copy = model.copy_of(index);
    return model.strings[copy->why] + " from " + device_label(model, copy->src);
  }
  return model.name_of(event);
}

std::string waiting_words(const Model& model, const Waiting& waiting) {
  if (waiting.cause == Waiting::For::nothing) return "idle";
  const std::string task = task_name(model, waiting.task);
  switch (waiting.cause) {
    case Waiting::For::core:
      return fmt::format("waits for {}: {}", processor_words(model), task);
    case Waiting::For::ranks:
      return "waits for other ranks: " + task;
    case Waiting::For::event:
      return "waits for " + model.strings[waited_name(model, waiting.awaited)] + ": " +
             task;
    case Waiting::For::port:
      return "waits for a port: " + task;
    default:
      return "enqueued: " + task;
  }
}

std::string brief_waiting_words(const Model& model, const Waiting& waiting) {
  if (waiting.cause == Waiting::For::nothing) return "idle";
  return task_name(model, waiting.task) + " waits";
}

}  // namespace lockstep::gui
