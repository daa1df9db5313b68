// The stage of a model in host memory that all workers train (hogwild, locked): its
// card, who waits for its lock, and how stale the gradients of its updates were.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/units.h"
#include "gui/panels/stage_parts.h"
#include "gui/panels/widgets.h"
#include "tracer/format/keys.h"

namespace lockstep::gui {

namespace {

/// Returns "updates" or what else an event of a worker's host does with the model; ""
/// if it does something else.
std::string use_of_model(const Model& model, const Event& event) {
  const std::string& name = model.name_of(event);
  if (name == names::read_shared) return "reads";
  if (name == names::update_shared) return "updates";
  if (name == kWaitForLock) return "waits";
  return "";
}

/// Returns "worker 1 has the lock · 2 wait".
std::string who_has_the_lock(const OpenTrace& trace) {
  const std::vector<LockUse> queue = lock_queue(trace.lock, trace.state.now);
  if (queue.empty()) return "the lock is free";
  const bool held = queue.front().holds_at(trace.state.now);
  const size_t waiting = queue.size() - (held ? 1 : 0);
  std::string text = held ? fmt::format("worker {} has the lock", queue.front().rank)
                          : std::string("the lock changes hands");
  if (waiting > 0)
    text += fmt::format(" · {} wait{}", waiting, waiting == 1 ? "s" : "");
  return text;
}

/// Returns "worker 0 updates · worker 2 reads", or who has the lock.
std::string who_uses_it(const OpenTrace& trace) {
  if (!trace.lock.empty()) return who_has_the_lock(trace);
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

/// Returns "has it for 1.20 ms" or "waits for 850 µs, of 1.3 ms".
std::string queue_words(const LockUse& use, int64_t now) {
  if (use.holds_at(now)) {
    return fmt::format("has it for {}, of {}", human_time(now - use.got),
                       human_time(use.released - use.got));
  }
  return fmt::format("waits for {}, of {}", human_time(now - use.asked),
                     human_time(use.got - use.asked));
}

/// Returns "nobody has it; next is worker 1, in 2.30 ms".
std::string free_words(const std::vector<LockUse>& uses, int64_t now) {
  const auto next = std::ranges::upper_bound(uses, now, {}, &LockUse::got);
  if (next == uses.end()) return "nobody has it, or asks for it again";
  return fmt::format("nobody has it; next is worker {}, in {}", next->rank,
                     human_time(next->got - now));
}

/// Draws a row per worker that has the lock or waits for it. A click goes to its event.
void draw_lock_queue(const Ui& ui, Rect room, App& app, const OpenTrace& trace) {
  const Theme& t = ui.theme;
  const int64_t now = trace.state.now;
  constexpr float kRow = 15;
  const std::vector<LockUse> queue = lock_queue(trace.lock, now);
  const Rect head = room.take_top(ui.line_height(Type::small) + 3);
  ui.text_cut(head.x, head.y, head.w, Type::small, t.dim, "the lock and its queue");
  if (queue.empty()) {
    ui.text_cut(room.x, room.y, room.w, Type::small, t.faint,
                free_words(trace.lock, now));
    return;
  }
  const auto fit = static_cast<size_t>(std::max(1.0f, std::floor(room.h / kRow)));
  const size_t rows = queue.size() > fit ? fit - 1 : queue.size();
  for (size_t i = 0; i < rows; ++i) {
    const LockUse& use = queue[i];
    const Rect row = room.take_top(kRow);
    const bool holds = use.holds_at(now);
    const ImU32 mark = holds ? t.accent : t.waiting;
    if (holds) {
      ui.fill({row.x, row.y + 3, 7, 7}, mark, 2);
    } else {
      ui.frame({row.x, row.y + 3, 7, 7}, mark, 2);
    }
    ImGui::PushID(static_cast<int>(i));
    bool hovered = false;
    const bool clicked = ui.clicked("lock", row, &hovered);
    ImGui::PopID();
    const ImU32 ink = hovered || use.rank == trace.state.rank ? t.accent : t.text;
    const float used = ui.text_cut(row.x + 13, row.y, row.w - 13, Type::small, ink,
                                   fmt::format("worker {}", use.rank));
    ui.text_cut(row.x + 13 + used + 8, row.y, row.w - used - 21, Type::small, t.dim,
                queue_words(use, now));
    if (!clicked) continue;
    app.settings.transport.playing = false;
    const bool waits = !holds && use.wait != kNoEvent;
    app.go(at_event(*trace.model, waits ? use.wait : use.event));
  }
  if (rows < queue.size()) {
    ui.text_cut(room.x + 13, room.y, room.w - 13, Type::small, t.faint,
                fmt::format("and {} more", queue.size() - rows));
  }
}

void draw_staleness(const Ui& ui, Rect room, const OpenTrace& trace) {
  if (!trace.why || trace.why->summary.staleness.updates == 0) return;
  const tracer::Staleness& all = trace.why->summary.staleness;
  const float line = ui.line_height(Type::small);
  if (all.histogram.empty()) return;
  std::string head =
      fmt::format("staleness of all {} update{}, mean {:.2f}", all.updates,
                  all.updates == 1 ? "" : "s", tracer::mean_staleness(all.histogram));
  const bool bars = room.h >= 4 * line - 8;
  if (!bars) {  // in words
    for (const auto& [staleness, count] : all.histogram) {
      head += fmt::format(" · {}: {}x", staleness, count);
    }
  }
  ui.text_cut(room.x, room.y, room.w, Type::small, ui.theme.dim, head);
  room.take_top(line + 2);
  if (bars) draw_bars(ui, room, all.histogram);
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

void draw_below_shared_model(const Ui& ui, Rect room, App& app,
                             const OpenTrace& trace) {
  if (room.h < ui.line_height(Type::small) + 8) return;
  room.take_top(8);
  if (!trace.lock.empty()) {
    const float wide = std::max(240.0f, std::floor(room.w * 0.5f));
    draw_lock_queue(ui, room.take_left(std::min(wide, room.w)), app, trace);
    room.take_left(12);
  }
  if (room.w > 120) draw_staleness(ui, room, trace);
}

}  // namespace lockstep::gui
