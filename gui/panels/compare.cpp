// Compares two or three traces side by side, at the same phase of the same step, and
// says which is the fastest.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <span>

#include "base/units.h"
#include "gui/panels/panels.h"
#include "gui/panels/stacked.h"
#include "tracer/analysis/verdict.h"

namespace lockstep::gui {

namespace {

constexpr size_t kMaxTraces = 3;

std::string title_of(const Model& model) {
  const std::string mode = model.meta_text(top::mode);
  const std::string arch = model.meta_text(top::arch);
  if (mode.empty()) return model.name.substr(model.name.find_last_of('/') + 1);
  return fmt::format("{} · {} · {} device{} · {}", arch, mode, model.devices.size(),
                     model.devices.size() == 1 ? "" : "s", clock_words(model));
}

/// Returns the phases of all traces; tries to preserve the order within each trace.
std::vector<std::string> all_phases(const std::vector<OpenTrace*>& traces) {
  std::vector<std::string> names;
  for (const OpenTrace* trace : traces) {
    auto place = names.begin();
    for (const tracer::NamedPhase& phase : trace->step.phases) {
      const std::string& name = phase.name;
      auto found = std::find(names.begin(), names.end(), name);
      if (found == names.end()) found = names.insert(place, name);
      place = found + 1;
    }
  }
  return names;
}

/// What one trace spends in a phase of this step.
struct ComparedCost {
  int64_t time =
      0;  ///< ns, from the first kernel or copy to the last; else on the host
  int64_t busy = 0;  ///< … in which the device that is busy the longest ran part of it
  bool on_device = false;
  bool works() const { return on_device && busy * 10 >= time; }
};

ComparedCost compared_cost(const OpenTrace& trace, const std::string& phase) {
  for (const tracer::NamedPhase& own : trace.step.phases) {
    if (own.name != phase) continue;
    const bool joined = phase == phases::forward && trace.step.joined_forward;
    const tracer::PhaseCost& cost = joined ? *trace.step.joined_forward : own.cost;
    return {cost.cost(), busiest(cost), cost.on_device()};
  }
  return {};
}

/// Returns how a phase's span compares with the first trace's: "" if one of them is
/// host time, the devices only wait in it, or both are shorter than `shortest`.
std::string compared_words(const ComparedCost& first, const ComparedCost& other,
                           int64_t shortest) {
  if (first.time <= 0 || other.time <= 0 || !first.works() || !other.works()) return "";
  if (first.time < shortest && other.time < shortest) return "";
  return tracer::faster_words(first.time, other.time);
}

/// Times of a recording and of an emulation are not set in relation.
bool same_clock(const OpenTrace& a, const OpenTrace& b) {
  return a.model->is_measured() == b.model->is_measured();
}

/// One line of the table: a text for each trace, and a bar for some.
struct ComparedRow {
  std::string name;
  struct Cell {
    int64_t bar = 0;  ///< ns busy
    std::string value, of, words;
  };
  std::vector<Cell> cells;
};

/// Returns "step 2 of ddp", the head of a trace's column.
std::string step_name(const std::vector<OpenTrace*>& traces, size_t index) {
  const OpenTrace& trace = *traces[index];
  return fmt::format("step {} of {}", trace.model->steps[trace.state.step].number,
                     compared_name(traces, index));
}

ComparedRow step_row(const std::vector<OpenTrace*>& traces) {
  ComparedRow row{"step", {}};
  const int64_t first = traces[0]->step.length;
  for (size_t i = 0; i < traces.size(); ++i) {
    const OpenTrace* trace = traces[i];
    const int64_t length = trace->step.length;
    ComparedRow::Cell cell{0, "–", step_name(traces, i), ""};
    if (trace->model->has_device_times() && length > 0) {
      cell.value = human_time(length);
      const bool compared = trace != traces[0] && first > 0 &&
                            traces[0]->model->has_device_times() &&
                            same_clock(*traces[0], *trace);
      if (compared) cell.words = tracer::faster_words(first, length);
    }
    row.cells.push_back(cell);
  }
  return row;
}

ComparedRow phase_row(const std::vector<OpenTrace*>& traces, const std::string& phase) {
  ComparedRow row{phase, {}};
  const ComparedCost first = compared_cost(*traces[0], phase);
  for (const OpenTrace* trace : traces) {
    const ComparedCost cost = compared_cost(*trace, phase);
    ComparedRow::Cell cell{0, "–", "", ""};
    const bool timed = !cost.on_device || trace->model->has_device_times();
    if (cost.time > 0 && timed && cost.on_device) {
      cell = {cost.busy, human_time(cost.busy), "of " + human_time(cost.time), ""};
      if (trace != traces[0] && same_clock(*traces[0], *trace))
        cell.words = compared_words(first, cost, trace->step.length / 100);
      if (!cell.words.empty()) cell.words = "span " + cell.words;
    } else if (cost.time > 0 && timed) {
      cell.of = "host " + human_time(cost.time);
      cell.value.clear();
    }
    row.cells.push_back(cell);
  }
  return row;
}

ComparedRow bytes_row(const std::vector<OpenTrace*>& traces) {
  ComparedRow row{"bytes moved", {}};
  for (const OpenTrace* trace : traces) {
    int64_t sum = 0;
    std::map<std::pair<int, bool>, int64_t> ports;
    for (const PortBytes& port : trace->step.ports) {
      if (!port.out) sum += port.bytes;
      ports[{port.device, port.out}] += port.bytes;
    }
    int64_t most = 0;
    std::string busiest;
    for (const auto& [port, bytes] : ports) {
      if (port.first == kHostDevice || bytes <= most) continue;
      most = bytes;
      busiest = fmt::format("{} {} dev {}", human_bytes(bytes),
                            port.second ? "out of" : "into",
                            trace->model->devices[port.first].id);
    }
    row.cells.push_back({0, human_bytes(sum), busiest, ""});
  }
  return row;
}

ComparedRow memory_row(const std::vector<OpenTrace*>& traces) {
  ComparedRow row{"peak memory, whole run", {}};
  for (const OpenTrace* trace : traces) {
    ComparedRow::Cell cell{0, "unknown", "", ""};
    if (trace->why != nullptr) {
      int64_t most = 0;
      for (const auto& [device, peak] : trace->why->summary.memory) {
        if (peak.total <= most) continue;
        most = peak.total;
        cell.value = human_bytes(most);
        cell.of = fmt::format("on dev {}", device);
      }
    }
    row.cells.push_back(cell);
  }
  return row;
}

std::string compared_verdict(const std::vector<OpenTrace*>& traces) {
  std::vector<const tracer::Summary*> runs;
  for (const OpenTrace* trace : traces) {
    if (trace->why == nullptr) return "Computing …";
    if (!trace->why->problem.empty()) return "";
    runs.push_back(&trace->why->summary);
  }
  const std::string said = tracer::verdict_sentence(runs);
  const bool several = traces[0]->model->steps.size() > 1;
  if (said.empty() || !several || said.starts_with("No verdict")) return said;
  const bool warm_up = std::ranges::any_of(
      traces, [](const OpenTrace* trace) { return !trace->why->warm_up.empty(); });
  return fmt::format("Mean of all steps{}: {}", warm_up ? " after the warm-up" : "",
                     said);
}

/// The widths of the table's columns, in points.
struct ComparedWidths {
  float name = 0, value = 0, of = 0, words = 0;
};

ComparedWidths compared_widths(const Ui& ui, const std::vector<ComparedRow>& rows) {
  ComparedWidths widths;
  for (const ComparedRow& row : rows) {
    widths.name = std::max(widths.name, ui.width(Type::body, row.name));
    for (const ComparedRow::Cell& cell : row.cells) {
      widths.value = std::max(widths.value, ui.width(Type::strong, cell.value));
      widths.of = std::max(widths.of, ui.width(Type::body, cell.of));
      widths.words = std::max(widths.words, ui.width(Type::body, cell.words));
    }
  }
  return widths;
}

/// Returns what a trace's column needs without a bar. The first is not compared.
float needed_width(const ComparedWidths& widths, size_t trace, size_t traces) {
  constexpr float kBetween = 8, kAfter = 16;
  const bool words = (trace > 0 || traces < 2) && widths.words > 0;
  return widths.value + kBetween + widths.of + kAfter +
         (words ? widths.words + kBetween : 0);
}

void draw_compared_row(const Ui& ui, const Rect& line, const ComparedRow& row,
                       const ComparedWidths& widths, int64_t longest) {
  const Theme& t = ui.theme;
  const bool strong = row.name == "step";
  const size_t count = row.cells.size();
  const float names = std::min(widths.name + 14, line.w * 0.22f);
  const float y = line.y + (line.h - ui.line_height(Type::body)) / 2;
  ui.text_cut(line.x, y, names - 8, Type::body, strong ? t.text : t.dim, row.name);
  float spare = line.w - names;
  for (size_t i = 0; i < count; ++i) spare -= needed_width(widths, i, count);
  const float bar = spare / static_cast<float>(count);  // negative: text is cut
  float x = line.x + names;
  for (size_t i = 0; i < count; ++i) {
    const ComparedRow::Cell& cell = row.cells[i];
    const float end = x + bar + needed_width(widths, i, count);
    if (cell.bar > 0 && bar > 26) {
      ui.bar({x, line.y + line.h / 2 - 3, bar - 10, 7},
             static_cast<float>(static_cast<double>(cell.bar) /
                                static_cast<double>(longest)),
             phase_colour(t, row.name));
    }
    const float value = x + std::max(0.0f, bar) + widths.value;
    ui.text_right(value, y, strong ? Type::strong : Type::body, t.text, cell.value);
    ui.text_cut(value + 8, y, widths.of + std::min(0.0f, bar), Type::body, t.dim,
                cell.of);
    ui.text_right(end - 16, y, Type::body, t.dim, cell.words);
    x = end;
  }
}

std::vector<ComparedRow> compared_rows(const std::vector<OpenTrace*>& traces) {
  std::vector<ComparedRow> rows = {step_row(traces), bytes_row(traces),
                                   memory_row(traces)};
  for (const std::string& phase : all_phases(traces)) {
    rows.push_back(phase_row(traces, phase));
  }
  return rows;
}

void draw_table(const Ui& ui, const Rect& area, const std::vector<OpenTrace*>& traces,
                const std::vector<ComparedRow>& rows) {
  const Theme& t = ui.theme;
  const std::string warning = why_incomparable(traces);
  Rect room = ui.card(
      area, "THIS STEP, PHASE BY PHASE",
      warning.empty()
          ? "time busy or in flight on the busiest device, of the phase's span (its "
            "first task to its last); spans compared with the first trace"
          : "");
  if (!warning.empty()) {
    ui.text_right(room.right() - 13, area.y + 9, Type::small, t.warning, warning);
  }
  room = {room.x + 14, room.y + 6, room.w - 28, room.h - 10};
  const std::string said = compared_verdict(traces);
  if (!said.empty()) {
    room.take_top(
        ui.text_rich(room, Type::strong, Type::strong, t.accent, t.accent, said) + 4);
  }
  int64_t longest = 1;
  for (const ComparedRow& row : rows) {
    for (const ComparedRow::Cell& cell : row.cells)
      longest = std::max(longest, cell.bar);
  }
  const ComparedWidths widths = compared_widths(ui, rows);
  const float high = std::clamp(room.h / static_cast<float>(rows.size()), 17.0f, 21.0f);
  const float all = high * static_cast<float>(rows.size());
  room.h = high * std::floor(room.h / high);
  const Scroll scroll(ui, "compare", room, all, 0, 0);
  const float width = room.w - (all > room.h + 1 ? 8 : 0);
  float y = scroll.top();
  for (const ComparedRow& row : rows) {
    const Rect line{room.x, y, width, high};
    if (scroll.shows(y, high)) draw_compared_row(ui, line, row, widths, longest);
    y += high;
  }
}

/// The heights of the three parts; 0: there is no room for it.
struct ComparedParts {
  float stages = 0, stacked = 0, table = 0;
};

constexpr float kComparedGap = 9;

/// The stages get room last: the times and the table show the same step in less.
ComparedParts compared_parts(const std::vector<OpenTrace*>& traces, float room,
                             size_t lines) {
  constexpr float kStages = 215, kLeastTable = 172, kLowestTable = 90;
  const float wanted = std::max(kLeastTable, 66 + 18 * static_cast<float>(lines));
  const float full = stacked_height(traces, kStackedFits[0]);
  float low = 0;
  for (const StackedFit& fit : std::span(kStackedFits).subspan(1)) {
    low = stacked_height(traces, fit);
    if (room >= low + kComparedGap + kLeastTable) break;
  }
  ComparedParts parts{0, low, kLeastTable};
  if (room < low + kComparedGap + kLowestTable) return {0, 0, room};
  const bool staged = room >= low + kLeastTable + kStages + 2 * kComparedGap;
  if (staged) parts.stages = kStages;
  float spare = room - parts.stages - low - kLeastTable - kComparedGap;
  if (staged) spare -= kComparedGap;
  if (spare < 0) return {0, low, room - low - kComparedGap};
  const float more = std::min(spare * (staged ? 0.5f : 1.0f), wanted - kLeastTable);
  parts.table += more, spare -= more;
  if (spare >= full - low) parts.stacked = full, spare -= full - low;
  (staged ? parts.stages : parts.stacked) += spare;
  return parts;
}

void draw_stages(const Ui& ui, const Rect& room, App& app,
                 const std::vector<OpenTrace*>& traces) {
  const Theme& t = ui.theme;
  const auto count = static_cast<float>(traces.size());
  const float wide = (room.w - kComparedGap * (count - 1)) / count;
  for (size_t i = 0; i < traces.size(); ++i) {
    Rect column{room.x + static_cast<float>(i) * (wide + kComparedGap), room.y, wide,
                room.h};
    const Rect head = column.take_top(28);
    const bool own = traces[i] == &app.trace();
    ImGui::PushID(static_cast<int>(i));
    if (ui.clicked("trace", head)) app.select_trace(i);
    ui.text_cut(head.x + 4, head.y + 4, head.w * 0.66f, Type::strong,
                own ? t.accent : t.text, title_of(*traces[i]->model));
    const State& state = traces[i]->state;
    const std::string what =
        traces[i]->model->name_of(traces[i]->model->events[state.event]);
    const float room_right = head.w * 0.3f;
    const float text = std::min(room_right, ui.width(Type::mono_small, what));
    ui.text_cut(head.right() - 4 - text, head.y + 6, room_right, Type::mono_small,
                t.dim, what);
    draw_stage(ui, column, app, *traces[i]);
    ImGui::PopID();
  }
}

}  // namespace

std::string why_incomparable(const std::vector<OpenTrace*>& traces) {
  const OpenTrace& first = *traces.front();
  const std::string arch = first.model->meta_text(top::arch);
  std::string nets, batches, clocks;
  for (const OpenTrace* trace : traces) {
    const std::string other = trace->model->meta_text(top::arch);
    if (other != arch) {
      nets = fmt::format("different workloads: the models are {} and {}", arch, other);
    }
    if (trace->step.batch != first.step.batch) {
      batches = fmt::format("different workloads: the batch sizes are {} and {}",
                            first.step.batch, trace->step.batch);
    }
    if (!same_clock(first, *trace)) {
      clocks =
          "different clocks: one is measured, one emulated (`emulate -o` writes both)";
    }
  }
  const std::string work = nets.empty() ? batches : nets;
  return work + (work.empty() || clocks.empty() ? "" : "; ") + clocks;
}

void draw_compare(const Ui& ui, const Rect& area, App& app) {
  std::vector<OpenTrace*> traces;
  for (OpenTrace& trace : app.traces()) {
    if (traces.size() < kMaxTraces) traces.push_back(&trace);
  }
  const std::vector<ComparedRow> rows = compared_rows(traces);
  const ComparedParts parts = compared_parts(traces, area.h, rows.size());
  Rect room = area;
  draw_table(ui, room.take_bottom(parts.table), traces, rows);
  room.take_bottom(kComparedGap);
  if (parts.stacked > 0) {
    ImGui::PushID("stacked");
    draw_stacked(ui, room.take_bottom(parts.stacked), app, traces);
    ImGui::PopID();
    room.take_bottom(kComparedGap);
  }
  if (parts.stages > 0) draw_stages(ui, room, app, traces);
}

}  // namespace lockstep::gui
