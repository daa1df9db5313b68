#include "gui/panels/widgets.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "base/units.h"
#include "gui/model/details.h"

namespace lockstep::gui {

void draw_tabs(const Ui& ui, const Rect& area, const std::array<Tab, 2>& tabs,
               bool& second) {
  float x = area.x + 13;
  const bool was_second = second;
  for (const bool is_second : {false, true}) {
    const Tab& tab = tabs[is_second ? 1 : 0];
    const float wide = ui.width(Type::small, tab.name);
    const bool chosen = was_second == is_second;
    bool hovered = false;
    if (ui.clicked(tab.name, {x - 5, area.y + 3, wide + 10, 26}, &hovered)) {
      second = is_second;
    }
    if (hovered) ui.tooltip(tab.tip);
    ui.text(x, area.y + 9, Type::small,
            chosen || hovered ? ui.theme.text : ui.theme.faint, tab.name);
    if (chosen) ui.fill({x, area.y + 28, wide, 2}, ui.theme.accent);
    x += wide + 16;
  }
}

std::string display_name(const Model& model, const Event& event, bool cpp) {
  if (cpp) {
    const std::string name = string_arg(args_of(model, event), keys::cpp);
    if (!name.empty()) return name;
  }
  return function_first(std::string(model.name_of(event)));
}

std::string function_first(const std::string& name) {
  const size_t colon = name.find("): ");
  if (colon == name.npos || name.rfind(".py(", colon) == name.npos) return name;
  const size_t slash = name.rfind('/', colon);
  const size_t file = slash == name.npos ? 0 : slash + 1;
  return name.substr(colon + 3) + " · " + name.substr(file, colon + 1 - file);
}

std::string device_label(const Model& model, int device) {
  if (device == kHostDevice) return "host";
  return fmt::format("device {}", model.devices[device].id);
}

void draw_icon(const Ui& ui, const Rect& box, Icon icon, ImU32 colour) {
  ImDrawList& list = *ui.list;
  const ImVec2 c = box.centre();
  const auto at = [&](float x, float y) { return ImVec2(c.x + x, c.y + y); };
  const auto line = [&](std::initializer_list<ImVec2> points) {
    std::array<ImVec2, 4> path{};
    size_t count = 0;
    for (const ImVec2& p : points) path[count++] = p;
    list.AddPolyline(path.data(), static_cast<int>(count), colour, 0, 1.8f);
  };
  const auto triangle = [&](float tip, float base) {
    list.AddTriangleFilled(at(base, -5.5f), at(tip, 0), at(base, 5.5f), colour);
  };
  switch (icon) {
    case Icon::play:
      triangle(6.5f, -4);
      break;
    case Icon::pause:
      list.AddRectFilled(at(-5, -5.5f), at(-1.5f, 5.5f), colour, 1);
      list.AddRectFilled(at(1.5f, -5.5f), at(5, 5.5f), colour, 1);
      break;
    case Icon::first:
      list.AddRectFilled(at(-6, -5.5f), at(-4, 5.5f), colour);
      list.AddTriangleFilled(at(5, -5.5f), at(-3, 0), at(5, 5.5f), colour);
      break;
    case Icon::last:
      list.AddRectFilled(at(4, -5.5f), at(6, 5.5f), colour);
      triangle(3, -5);
      break;
    case Icon::back:
      line({at(2.5f, -5), at(-2.5f, 0), at(2.5f, 5)});
      break;
    case Icon::forward:
      line({at(-2.5f, -5), at(2.5f, 0), at(-2.5f, 5)});
      break;
    case Icon::into:
      line({at(0, -6), at(0, 2.5f)});
      line({at(-3.5f, -1), at(0, 2.7f), at(3.5f, -1)});
      line({at(-5, 6), at(5, 6)});
      break;
    case Icon::caller:
      line({at(0, 3.5f), at(0, -5)});
      line({at(-3.5f, -1.7f), at(0, -5.4f), at(3.5f, -1.7f)});
      line({at(-5, 6), at(5, 6)});
      break;
  }
}

namespace {

/// Returns the reasons for copies in the step, in decreasing order of bytes.
std::vector<std::string> reasons_of(const OpenTrace& trace) {
  std::map<uint32_t, int64_t> bytes;
  for (const PortBytes& port : trace.step.ports) bytes[port.why] += port.bytes;
  std::vector<std::pair<int64_t, uint32_t>> order;
  for (const auto& [why, sum] : bytes) order.emplace_back(-sum, why);
  std::sort(order.begin(), order.end());
  std::vector<std::string> names;
  for (const auto& [sum, why] : order) names.push_back(trace.model->strings[why]);
  return names;
}

}  // namespace

void draw_reasons(const Ui& ui, float x, float y, float right, const OpenTrace& trace) {
  for (const std::string& why : reasons_of(trace)) {
    if (why.empty()) continue;
    const float wide = 11 + ui.width(Type::small, why);
    if (x + wide > right) return;
    ui.fill({x, y + 4, 7, 7}, reason_colour(ui.theme, why), 2);
    ui.text(x + 11, y, Type::small, ui.theme.dim, why);
    x += wide + 11;
  }
}

int64_t time_until(const OpenTrace& trace, uint32_t event) {
  return static_cast<int64_t>(trace.model->events[event].ts) - trace.state.now;
}

float draw_delay(const Ui& ui, const Rect& box, int64_t delay, float room) {
  const std::string text = "starts in " + human_time(delay);
  const float wide = ui.width(Type::small, text) + 8;
  if (wide > room / 2) return 0;
  const float y = box.y + (box.h - ui.line_height(Type::small)) / 2;
  ui.text_right(box.right() - 7, y, Type::small, ui.theme.faint, text);
  return wide;
}

Clock clock_of(const Event& event) {
  const Kind kind = event.what();
  if (kind == Kind::mark || kind == Kind::other) return {"", false};
  const bool phase = kind == Kind::phase || kind == Kind::step;
  return {event.is_task() ? "device" : "host", phase || event.is_task()};
}

std::string time_of_event(const Model& model, const Event& event) {
  const bool timed = !event.is_task() || model.has_device_times();
  return event.dur > 0 && timed ? human_time(event.dur) : "";
}

float clocked_width(const Ui& ui, const std::string& time, Clock clock) {
  const float wide = ui.width(Type::small, time);
  return clock.always ? wide + ui.width(Type::small, clock.word) + 5 : wide;
}

float draw_clocked(const Ui& ui, float right, float y, const std::string& time,
                   Clock clock, ImU32 ink, float room) {
  if (time.empty()) return 0;
  const float wide = ui.width(Type::small, time);
  ui.text_right(right, y, Type::small, ink, time);
  const float word = ui.width(Type::small, clock.word) + 5;
  if (*clock.word == 0 || (!clock.always && wide + word + 10 > room)) return wide;
  ui.text_right(right - wide - 5, y, Type::small, ui.theme.faint, clock.word);
  return wide + word;
}

}  // namespace lockstep::gui
