// The stage of a model in host memory that all workers train (hogwild, locked): its
// card, and how stale the gradients of its updates were.
#include <fmt/format.h>

#include <algorithm>

#include "gui/panels/stage_parts.h"
#include "tracer/format/keys.h"

namespace lockstep::gui {

namespace {

/// Returns "updates" or what else an event of a worker's host does with the model; ""
/// if it does something else.
std::string use_of_model(const Model& model, const Event& event) {
  const std::string& name = model.name_of(event);
  if (name == "lockstep::read_shared") return "reads";
  if (name == "lockstep::update_shared") return "updates";
  if (name == "wait for lock") return "waits";
  return "";
}

/// Returns "worker 0 updates · worker 2 waits", for the lock.
std::string who_uses_it(const OpenTrace& trace) {
  const Model& model = *trace.model;
  std::string users;
  for (const Lane& lane : model.lanes) {
    if (!lane.is_host()) continue;
    const uint32_t running = running_on(model, lane, trace.state.now);
    if (running == kNoEvent) continue;
    const std::string use = use_of_model(model, model.events[running]);
    if (use.empty()) continue;
    users += fmt::format("{}worker {} {}", users.empty() ? "" : " · ", lane.rank, use);
  }
  return users.empty() ? "not in use" : users;
}

/// Draws a bar per staleness, upwards, with its count above and the staleness below.
void draw_bars(const Ui& ui, const Rect& room, const tracer::StalenessCounts& counts) {
  const float line = ui.line_height(Type::small);
  int64_t most = 1;
  for (const auto& [staleness, count] : counts) most = std::max(most, count);
  const auto bins = static_cast<float>(counts.size());
  const float wide = std::min(64.0f, room.w / bins), high = room.h - 2 * line - 2;
  float x = room.x;
  for (const auto& [staleness, count] : counts) {
    const float share = static_cast<float>(count) / static_cast<float>(most);
    const float bar = std::max(2.0f, high * share), base = room.bottom() - line - 1;
    ui.fill({x + 4, base - bar, wide - 8, bar}, ui.theme.arrow, 2);
    ui.text_centred({x, base - bar - line, wide, line}, Type::small, ui.theme.dim,
                    fmt::format("{}", count));
    ui.text_centred({x, base + 1, wide, line}, Type::small, ui.theme.text,
                    fmt::format("{}", staleness));
    x += wide;
  }
}

}  // namespace

bool has_shared_model(const Model& model) {
  const std::string mode = model.meta_text(tracer::top::mode);
  return mode == "hogwild" || mode == "locked";
}

void draw_shared_model(const Ui& ui, const Rect& r, const OpenTrace& trace) {
  const Theme& t = ui.theme;
  ui.fill(r, t.raised, 8);
  ui.frame(r, t.line, 8, 1);
  const float top = r.y + (r.h < 45 ? 5 : 9);
  ui.text(r.x + 14, top, Type::strong, t.text, "shared model");
  const int64_t version =
      trace.why ? trace.why->version_at(trace.state.now) : tracer::kNone;
  const std::string words =
      version == tracer::kNone ? "" : fmt::format("version {}", version);
  ui.text_right(r.right() - 14, top + 1, Type::small, t.dim, words);
  const float y = r.bottom() - ui.line_height(Type::small) - (r.h < 45 ? 5 : 9);
  ui.text_cut(r.x + 14, y, r.w - 28, Type::small, t.dim, who_uses_it(trace));
}

void draw_staleness(const Ui& ui, Rect room, const OpenTrace& trace) {
  if (!trace.why || trace.why->summary.staleness.updates == 0) return;
  const tracer::Staleness& all = trace.why->summary.staleness;
  const float line = ui.line_height(Type::small);
  if (room.h < line + 8 || all.histogram.empty()) return;
  room.take_top(8);
  std::string head =
      fmt::format("staleness of all {} update{}, mean {:.2f}", all.updates,
                  all.updates == 1 ? "" : "s", tracer::mean_staleness(all.histogram));
  const bool bars = room.h >= 4 * line;
  if (!bars) {  // in words
    for (const auto& [staleness, count] : all.histogram) {
      head += fmt::format(" · {}: {}x", staleness, count);
    }
  }
  ui.text_cut(room.x, room.y, room.w, Type::small, ui.theme.dim, head);
  room.take_top(line + 2);
  if (bars) draw_bars(ui, room, all.histogram);
}

}  // namespace lockstep::gui
