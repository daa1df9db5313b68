// Which bucket is exposed, and by how much: a row per collective of one rank's step.
#include "gui/model/collectives.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/units.h"
#include "gui/model/details.h"
#include "gui/panels/panels.h"
#include "gui/ui/ui.h"

namespace lockstep::gui {

namespace {

constexpr float kTimeColumn = 62;                    ///< width of a column of times
constexpr float kSplitColumns[] = {68, 86, 68, 66};  ///< of what they consist of

struct SplitPart {
  const char* name;
  const char* rule;
  ImU32 colour;
  int64_t time;
  bool hatched = false, unknown = false;
};

/// What the time of a collective consists of, in the colours of the timeline.
std::array<SplitPart, 4> split_parts(const Theme& t, const CollectiveRow& row) {
  const tracer::CollectiveTime& time = row.time;
  const int64_t backward = row.has_phases ? time.backward : 0;
  const bool phases_known = row.has_phases || time.exposed == time.took;
  const ImU32 reduce = reason_colour(t, reasons::all_reduce);
  // Where the messages were not timed, all of the exposed time is drawn as waiting may
  // be, with its length and without a division.
  const int64_t moves = time.unseen ? 0 : time.exposed_transfer();
  return {
      {{"backward", "hidden behind backward: the device runs its kernels",
        phase_colour(t, phases::backward), backward, false, !phases_known},
       {"other kernels", "behind kernels of other phases only", t.grey,
        time.took - time.exposed - backward},
       {"moving", "exposed: messages move, and the device runs no kernel that computes",
        reduce, moves, false, time.unseen},
       {"waiting", "exposed, too: no message moves, the rank waits for another one",
        reduce, time.exposed - moves, true, time.unseen}}};
}

/// One drawing of the table.
struct CollectiveTable {
  const Ui& ui;
  App& app;
  const Model& model;
  const std::vector<CollectiveRow>& rows;
  std::optional<size_t> most;
  int64_t begin;     ///< of the step
  int64_t longest;   ///< of the collectives, at least 1
  bool wide, times;  ///< one line per row; times have a meaning

  float row_height() const { return wide || !times ? 24.0f : 40.0f; }
  float name_width() const { return wide ? 104.0f : 78.0f; }
  /// Returns the number of columns of times.
  int columns() const { return !times ? 0 : wide ? 7 : 4; }
};

std::string time_since(int64_t begin, int64_t ts) {
  if (ts == tracer::kNone) return "unknown";
  return (ts < begin ? "−" : "") + human_time(std::abs(ts - begin));
}

std::string ran_words(const CollectiveTable& table, const CollectiveRow& row) {
  const Event& event = table.model.events[row.event];
  return fmt::format("ready {} · start {} · end {}", time_since(table.begin, row.ready),
                     time_since(table.begin, event.ts),
                     time_since(table.begin, event.end()));
}

void draw_split_bar(const CollectiveTable& table, Rect bar, const CollectiveRow& row) {
  if (bar.w < 8) return;
  const Ui& ui = table.ui;
  const float scale = bar.w / static_cast<float>(table.longest);
  ui.fill(bar, ui.theme.sunken, 2);
  float x = bar.x;
  for (const SplitPart& part : split_parts(ui.theme, row)) {
    const float wide = scale * static_cast<float>(part.time);
    const Rect piece{x, bar.y, wide, bar.h};
    if (wide >= 0.4f && part.hatched) ui.hatch(piece, part.colour);
    if (wide >= 0.4f && !part.hatched) ui.fill(piece, part.colour, 1);
    x += wide;
  }
}

std::string collective_tip(const CollectiveTable& table, const CollectiveRow& row) {
  std::string tip = row.name();
  if (row.time.bytes != tracer::kNone) tip += ", " + human_bytes(row.time.bytes);
  if (!table.times) return tip + ". There are no times.";
  tip += fmt::format(": {}, {} since the step began.", human_time(row.time.took),
                     ran_words(table, row));
  for (const SplitPart& part : split_parts(table.ui.theme, row)) {
    tip += fmt::format(" {}: {}.", part.name,
                       part.unknown ? "unknown" : human_time(part.time));
  }
  if (row.time.unseen) {
    tip +=
        fmt::format(" Exposed, moving or waiting: {}.", human_time(row.time.exposed));
  }
  return tip;
}

/// Draws the names of the columns; those of the split are its legend.
void draw_split_heads(const CollectiveTable& table, const Rect& head) {
  const Ui& ui = table.ui;
  const ImU32 ink = ui.theme.dim;
  ui.text_right(head.x + table.name_width() + 62, head.y, Type::small, ink, "bytes");
  float x = head.x + table.name_width() + 62;
  if (table.columns() == 7) {
    for (const char* name : {"ready", "start", "end"}) {
      ui.text_right(x += kTimeColumn, head.y, Type::small, ink, name);
    }
  }
  if (!table.times) return;
  int id = 0;
  for (const SplitPart& part : split_parts(ui.theme, {})) {
    x += kSplitColumns[id];
    const float wide = ui.width(Type::small, part.name);
    ui.text_right(x, head.y, Type::small, ui.theme.text, part.name);
    const Rect mark{x - wide, head.y + ui.line_height(Type::small) + 1, wide, 4};
    part.hatched ? ui.hatch(mark, part.colour) : ui.fill(mark, part.colour, 1);
    bool hovered = false;
    ImGui::PushID(id++);
    ui.clicked("head", {x - wide, head.y, wide, head.h}, &hovered);
    ImGui::PopID();
    if (hovered) ui.tooltip(part.rule);
  }
}

void draw_split_numbers(const CollectiveTable& table, const Rect& row, size_t index) {
  const Ui& ui = table.ui;
  const Theme& t = ui.theme;
  const CollectiveRow& own = table.rows[index];
  const Event& event = table.model.events[own.event];
  const float y = row.y + (24 - ui.line_height(Type::body)) / 2;
  const ImU32 ink = own.is_bucket() ? t.text : t.dim;
  ui.text_cut(row.x + 8, y, table.name_width() - 10, Type::body, ink, own.name());
  float x = row.x + table.name_width() + 62;
  const bool sized = own.time.bytes != tracer::kNone;
  ui.text_right(x, y, Type::body, ink,
                sized ? human_bytes(own.time.bytes) : std::string("unknown"));
  if (!table.times) return;
  if (table.wide) {
    for (const int64_t ts : {own.ready, int64_t{event.ts}, event.end()}) {
      ui.text_right(x += kTimeColumn, y, Type::body, t.dim,
                    time_since(table.begin, ts));
    }
  }
  const bool most = table.most == index;
  const auto parts = split_parts(t, own);
  for (size_t i = 0; i < parts.size(); ++i) {
    const bool marked = i >= 2 && most;
    ui.text_right(x += kSplitColumns[i], y, marked ? Type::strong : Type::body,
                  marked ? t.warning : ink,
                  parts[i].unknown ? "unknown" : human_time(parts[i].time));
  }
  draw_split_bar(table, {x + 14, row.y + 7, row.right() - x - 22, 10}, own);
  if (!table.wide) {
    ui.text_cut(row.x + 8, row.y + 23, row.w - 16, Type::small, t.dim,
                ran_words(table, own) + (most ? " · the most exposed" : ""));
  }
}

void draw_collective(const CollectiveTable& table, const Rect& row, size_t index) {
  const Ui& ui = table.ui;
  const Theme& t = ui.theme;
  const CollectiveRow& own = table.rows[index];
  bool hovered = false;
  ImGui::PushID(static_cast<int>(index));
  const bool clicked = ui.clicked("collective", row, &hovered);
  ImGui::PopID();
  const bool current = table.app.trace().state.event == own.event;
  if (current || hovered) ui.fill(row, current ? t.accent_background : t.hover, 3);
  if (table.most == index) ui.fill({row.x, row.y + 3, 3, row.h - 6}, t.warning, 1);
  draw_split_numbers(table, row, index);
  if (hovered) ui.tooltip(collective_tip(table, own));
  if (!clicked) return;
  table.app.settings.transport.playing = false;
  table.app.go(at_event(table.model, own.event));
}

/// Returns the collectives of the step and rank in focus, which are computed once.
const std::vector<CollectiveRow>& rows_here(OpenTrace& trace) {
  const std::pair here{trace.state.step, trace.state.rank};
  if (trace.collectives_of != here) {
    trace.collectives = collectives_of(*trace.model, here.first, here.second);
    trace.collectives_of = here;
  }
  if (trace.exposed_of != here.second) {
    trace.exposed_by_step = exposed_by_step(*trace.model, here.second);
    trace.exposed_of = here.second;
  }
  return trace.collectives;
}

/// Returns which rank has the most exposed bucket, once that is computed.
std::string worst_rank_words(const OpenTrace& trace) {
  if (trace.why == nullptr || trace.model->ranks() < 2) return "";
  if (!trace.model->has_device_times()) return "";
  const auto* step = trace.why->step(trace.model->steps[trace.state.step].number);
  const std::string words = step == nullptr ? "" : most_exposed_rank(*step);
  return words.empty() ? "" : " " + words;
}

/// Returns why "Why not 4x?" gives less time to collectives, if it does.
std::string counted_elsewhere(const OpenTrace& trace) {
  if (trace.why == nullptr || !trace.model->has_device_times()) return "";
  const auto* step = trace.why->step(trace.model->steps[trace.state.step].number);
  if (step == nullptr || !step->split.known) return "";
  const tracer::SpentTimes& spent = step->split.spent;
  const int64_t waits = spent[tracer::Spent::core] + spent[tracer::Spent::gpu];
  if (waits * 50 < spent.sum()) return "";
  return fmt::format(
      " \"Why not\" (y) counts less: a time in which a kernel waits for {} counts as "
      "that.",
      processor_words(*trace.model));
}

/// Returns a warning if other programs used the cores, as "Why not 4x?" has it.
std::string disturbed_words(const OpenTrace& trace) {
  if (trace.why == nullptr || !tracer::is_disturbed(trace.why->summary)) return "";
  return " **Other programs used the cores** while this was recorded: kernels took "
         "longer than their CPU time, so another run may expose another bucket.";
}

}  // namespace

void draw_collectives(const Ui& ui, const Rect& area, App& app) {
  const Theme& t = ui.theme;
  OpenTrace& trace = app.trace();
  const Model& model = *trace.model;
  const std::vector<CollectiveRow>& rows = rows_here(trace);
  const Step& step = model.steps[trace.state.step];
  const std::string rank =
      model.ranks() > 1 ? fmt::format(" · rank {} (r: the next)", trace.state.rank)
                        : "";
  Rect room =
      ui.card(area, "WHAT IS EXPOSED",
              fmt::format("exposed = moving + waiting  ·  step {}{}  ·  h: back",
                          step.number, rank));
  room = {room.x + 16, room.y + 10, room.w - 32, room.h - 18};
  room.take_top(ui.text_rich(room, Type::strong, Type::strong, t.dim, t.text,
                             exposed_words(model, rows) + worst_rank_words(trace) +
                                 " " + trace.exposed_by_step +
                                 counted_elsewhere(trace) + disturbed_words(trace)) +
                10);
  if (rows.empty()) return;
  int64_t longest = 1;
  for (const CollectiveRow& row : rows) longest = std::max(longest, row.time.took);
  const CollectiveTable table{ui,
                              app,
                              model,
                              rows,
                              most_exposed(model, rows),
                              step.begin,
                              longest,
                              room.w > 680,
                              model.has_device_times()};
  if (room.h > 330) {
    draw_narration(ui, room.take_bottom(narration_height(ui, room.w, app)), app);
    room.take_bottom(8);
  }
  draw_split_heads(table, room.take_top(24));
  const float high = table.row_height();
  const Scroll scroll(ui, "collectives", room, high * static_cast<float>(rows.size()),
                      0, 0, high);
  float y = scroll.top();
  for (size_t i = 0; i < rows.size(); ++i, y += high) {
    if (scroll.shows(y, high)) draw_collective(table, {room.x, y, room.w - 8, high}, i);
  }
}

}  // namespace lockstep::gui
