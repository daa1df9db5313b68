// What stripes and marks on the devices' lanes mean, in the title bar.
#include <fmt/format.h>

#include <vector>

#include "gui/model/details.h"
#include "gui/model/why.h"
#include "gui/panels/panels.h"
#include "gui/panels/timeline_parts.h"

namespace lockstep::gui {

namespace {

constexpr float kSwatch = 12, kAfterSwatch = 5, kBetweenEntries = 14;

struct SwatchEntry {
  enum class Look : uint8_t { path, strong, faint, diamond, peak };
  Look look;
  std::string words;
};

/// Returns what the instants on the devices' lanes are, or "" if there are none.
std::string marks_of(const Model& model) {
  std::string name;
  for (const Lane& lane : model.lanes) {
    if (lane.is_host()) continue;
    for (const uint32_t index : lane.events) {
      const Event& event = model.events[index];
      if (event.what() != Kind::mark) continue;
      const std::string own = model.name_of(event);
      if (!name.empty() && own != name) return "an instant";
      name = own;
    }
  }
  return name == "grad_ready" ? "a gradient is ready" : name;
}

std::vector<SwatchEntry> legend_of(const TimelineFrame& frame) {
  using Look = SwatchEntry::Look;
  const Model& model = frame.model;
  std::vector<SwatchEntry> entries;
  const OpenTrace& trace = frame.trace;
  if (frame.app.settings.why && trace.why != nullptr &&
      !trace.why->paths[trace.state.step].empty()) {
    entries.push_back({Look::path, "longest path"});
  }
  if (is_ours(model) && model.has_device_times()) {
    const char* ranks = frame.cache.ranks > 1 ? " or ranks" : "";
    entries.push_back(
        {Look::strong, fmt::format("waits for {}{}", processor_words(model), ranks)});
    entries.push_back({Look::faint, "waits for a task or a port"});
  }
  if (!frame.cache.marks) frame.cache.marks = marks_of(model);
  if (!frame.cache.marks->empty()) {
    entries.push_back({Look::diamond, *frame.cache.marks});
  }
  if (frame.app.settings.tracks) entries.push_back({Look::peak, "peak memory"});
  return entries;
}

void draw_swatch(const Ui& ui, float x, float middle, SwatchEntry::Look look) {
  using Look = SwatchEntry::Look;
  const Theme& t = ui.theme;
  const float centre = x + kSwatch / 2;
  if (look == Look::diamond) {
    ui.list->AddQuadFilled({centre, middle - 3}, {centre + 3, middle},
                           {centre, middle + 3}, {centre - 3, middle}, t.text);
  } else if (look == Look::peak) {
    ui.list->AddTriangleFilled({centre - 4, middle - 3}, {centre + 4, middle - 3},
                               {centre, middle + 2}, t.text);
  } else if (look == Look::path) {
    ui.fill({x, middle - 1.3f, kSwatch, 2.6f}, t.text, 1.3f);
  } else {
    const ImU32 colour =
        look == Look::strong ? t.waiting : mixed(t.panel, t.waiting, 0.45f);
    ui.hatch({x, middle - 5, kSwatch, 10}, colour);
  }
}

}  // namespace

void draw_legend(const TimelineFrame& frame, float x0, float x1, float y) {
  const Ui& ui = frame.ui;
  for (const SwatchEntry& entry : legend_of(frame)) {
    const float wide = kSwatch + kAfterSwatch + ui.width(Type::small, entry.words);
    if (x0 + wide > x1) return;
    draw_swatch(ui, x0, y + ui.line_height(Type::small) / 2, entry.look);
    ui.text(x0 + kSwatch + kAfterSwatch, y, Type::small, ui.theme.dim, entry.words);
    frame.count(2);
    x0 += wide + kBetweenEntries;
  }
}

}  // namespace lockstep::gui
