#include "gui/panels/stacked.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>

#include "base/units.h"
#include "gui/panels/panels.h"

namespace lockstep::gui {

namespace {

constexpr float kStackedTitle = 32, kStackedMargin = 7, kStackedAxis = 16;
constexpr float kStackedLabels = 150;
constexpr float kBand = 17, kOwnLane = 17, kAllLane = 18;
constexpr float kStackedGap = 28, kWidestGap = 72;
constexpr double kMostlyWaits = 0.1;  ///< a phase whose busiest device is busy for less

bool has_lanes(const StepLanes& lanes) { return !lanes.all.computing.empty(); }

float bands_height(const StepLanes& lanes, const StackedFit& fit) {
  return kBand * static_cast<float>(std::clamp(lanes.rows, 1, fit.rows));
}

float lanes_height(const StepLanes& lanes, const StackedFit& fit) {
  if (!has_lanes(lanes)) return 0;
  if (!fit.own || lanes.devices.empty()) return fit.transfers ? 2 * kAllLane : kAllLane;
  return kOwnLane * static_cast<float>(lanes.devices.size());
}

/// Draws what one lane did, in columns of two points; its height is the share of time.
void draw_step_lane(const Ui& ui, const Rect& room, const std::vector<LaneBin>& bins,
                    const Model& model, bool phases) {
  constexpr float kColumn = 2;
  ui.fill(room, with_alpha(ui.theme.sunken, 0.55f));
  Rect run{room.x, 0, 0, 0};
  ImU32 colour = 0;
  const auto close = [&] {
    if (run.h > 0) ui.fill({run.x, room.bottom() - run.h, run.w, run.h}, colour);
  };
  for (float x = 0; x < room.w; x += kColumn) {
    const auto of = [&](float at) {
      const float share = std::min(1.0f, at / room.w);
      return static_cast<size_t>(share * static_cast<float>(kLaneBins));
    };
    const size_t first = std::min(of(x), kLaneBins - 1);
    const size_t last = std::clamp(of(x + kColumn), first + 1, kLaneBins);
    float sum = 0;
    const LaneBin* most = &bins[first];
    for (size_t i = first; i < last; ++i) {
      sum += bins[i].share;
      if (bins[i].share > most->share) most = &bins[i];
    }
    const float share = sum / static_cast<float>(last - first);
    const float high =
        share > 0 ? std::max(0.5f, std::round(2 * share * room.h) / 2) : 0;
    const std::string& what = model.strings[most->what];
    const ImU32 own =
        phases ? phase_colour(ui.theme, what) : reason_colour(ui.theme, what);
    if (high != run.h || own != colour) {
      close();
      run = {room.x + x, 0, 0, high};
      colour = own;
    }
    run.w = std::min(x + kColumn, room.w) - (run.x - room.x);
  }
  close();
}

void draw_device_lanes(const Ui& ui, const Rect& room, const StepLane& lane,
                       const Model& model, float below) {
  Rect top = room;
  const Rect low = top.take_bottom(below);
  top.take_bottom(1);
  draw_step_lane(ui, top, lane.computing, model, true);
  draw_step_lane(ui, low, lane.transferring, model, false);
}

void draw_step_lanes(const Ui& ui, const StackedBlock& block, const OpenTrace& trace,
                     const StepLanes& lanes, const StackedFit& fit) {
  if (!has_lanes(lanes)) return;
  const float wide = static_cast<float>(block.length) * block.per_ns;
  Rect room = block.lanes, names = block.labels;
  room.w = wide;
  names.take_top(block.bands.h);
  const Theme& t = ui.theme;
  if (!fit.own || lanes.devices.empty()) {
    const size_t count = trace.model->devices.size();
    const Rect top = room.take_top(kAllLane + (fit.transfers ? 2 : 0));
    draw_step_lane(ui, {top.x, top.y + 3, top.w, top.h - 3}, lanes.all.computing,
                   *trace.model, true);
    ui.text_cut(names.x, top.y + 3, names.w, Type::small, t.dim,
                fmt::format("{} device{} busy", count, count == 1 ? "" : "s"));
    if (!fit.transfers) return;
    draw_step_lane(ui, {room.x, room.y + 2, room.w, room.h - 4}, lanes.all.transferring,
                   *trace.model, false);
    ui.text_cut(names.x, room.y, names.w, Type::small, t.dim, "transfers");
    return;
  }
  const float high = room.h / static_cast<float>(lanes.devices.size());
  for (size_t i = 0; i < lanes.devices.size(); ++i) {
    const Rect line = room.take_top(high);
    draw_device_lanes(ui, {line.x, line.y + 2, line.w, line.h - 2}, lanes.devices[i],
                      *trace.model, std::round(high * 0.28f));
    ui.text_cut(names.x, line.y + (high - 15) / 2 + 1, names.w, Type::small, t.dim,
                fmt::format("device {}", trace.model->devices[i].id));
  }
}

Rect band_of(const StackedBlock& block, const LanePhase& phase) {
  const float x = block.x(phase.begin);
  return {x, block.bands.y + kBand * static_cast<float>(phase.row),
          std::max(1.0f, block.x(phase.end) - x), kBand - 1};
}

bool shows_band(const StackedBlock& block, const LanePhase& phase) {
  return kBand * static_cast<float>(phase.row + 1) <= block.bands.h;
}

void draw_bands(const Ui& ui, const StackedBlock& block, const StepLanes& lanes) {
  for (const LanePhase& phase : lanes.phases) {
    if (!shows_band(block, phase)) continue;
    const Rect r = band_of(block, phase);
    const ImU32 own = phase_colour(ui.theme, phase.name);
    const double share = static_cast<double>(phase.busy) /
                         static_cast<double>(std::max<int64_t>(1, phase.length()));
    const bool waits = share < kMostlyWaits;  // then it is only an outline
    const ImU32 colour = waits ? mixed(ui.theme.panel, own, 0.18f) : own;
    ui.fill(r, colour, r.w > 6 ? 2.0f : 0.0f);
    if (waits) ui.frame(r, own, r.w > 6 ? 2.0f : 0.0f);
    const std::string time = human_time(phase.length());
    const std::string all = phase.name + "  " + time;
    for (const std::string& words :
         {waits ? all + ", busy " + human_time(phase.busy) : all, all, phase.name,
          time}) {
      if (ui.width(Type::small, words) + 8 > r.w) continue;
      ui.text_centred(r, Type::small, ink_on(colour), words);
      break;
    }
  }
}

/// Draws what connects the same phase of two traces, and how much longer it is below.
void draw_links(const Ui& ui, const StackedBlock& above, const StackedBlock& below,
                const StepLanes& first, const StepLanes& second, bool compared) {
  const Theme& t = ui.theme;
  const float top = above.lanes.bottom(), bottom = below.bands.y;
  std::vector<const LanePhase*> shared;
  for (const LanePhase& phase : first.phases) {
    const LanePhase* other = second.phase(phase.name);
    if (other == nullptr) continue;
    if (shows_band(above, phase) && shows_band(below, *other)) shared.push_back(&phase);
  }
  std::stable_sort(
      shared.begin(), shared.end(),
      [](const LanePhase* a, const LanePhase* b) { return a->length() > b->length(); });
  std::vector<Rect> written;
  for (const LanePhase* phase : shared) {
    const LanePhase& other = *second.phase(phase->name);
    const Rect from = band_of(above, *phase), to = band_of(below, other);
    const ImU32 colour = phase_colour(t, phase->name);
    ui.list->AddQuadFilled({from.x, top}, {from.right(), top}, {to.right(), bottom},
                           {to.x, bottom}, with_alpha(colour, 0.15f));
    for (const bool end : {false, true}) {
      const float x = end ? from.right() : from.x, x2 = end ? to.right() : to.x;
      const ImU32 edge = with_alpha(colour, 0.6f);
      ui.list->AddLine({x, from.bottom()}, {x, top}, with_alpha(colour, 0.3f));
      ui.list->AddLine({x, top}, {x2, bottom}, edge);
      ui.list->AddLine({x2, bottom}, {x2, to.y}, with_alpha(colour, 0.3f));
    }
    const int64_t change = other.length() - phase->length();
    const std::string words = (change < 0 ? "−" : "+") + human_time(std::abs(change));
    const float wide = ui.width(Type::small, words);
    const float left = (from.x + to.x) / 2, right = (from.right() + to.right()) / 2;
    const Rect box{(left + right - wide) / 2, (top + bottom) / 2 - 8, wide, 16};
    const bool taken = std::any_of(written.begin(), written.end(), [&](const Rect& r) {
      return r.x < box.right() + 6 && box.x < r.right() + 6;
    });
    if (!compared || change == 0 || taken || right - left < wide + 12) continue;
    ui.text_centred(box, Type::small, t.text, words);
    written.push_back(box);
  }
}

void draw_stacked_axis(const Ui& ui, const StackedLayout& layout) {
  const StackedBlock& block = layout.blocks.front();
  const Rect& axis = layout.axis;
  const double longest = static_cast<double>(axis.w / block.per_ns);
  double step = 1;  // 1, 2 or 5 times a power of ten: at least 84 points
  for (int i = 0; step * static_cast<double>(block.per_ns) < 84; ++i) {
    step *= i % 3 == 1 ? 2.5 : 2;
  }
  const float end = layout.blocks.back().lanes.bottom();
  for (double at = 0; at <= longest; at += step) {
    const float x = axis.x + static_cast<float>(at) * block.per_ns;
    ui.fill({x, axis.y, 1, end - axis.y}, with_alpha(ui.theme.line, 0.6f));
    const std::string words = human_time(static_cast<int64_t>(at));
    if (x + 4 + ui.width(Type::small, words) > axis.right()) break;
    ui.text(x + 4, axis.y, Type::small, ui.theme.faint, words);
  }
}

void draw_stacked_name(const Ui& ui, const StackedBlock& block, const StepLanes& lanes,
                       const std::string& name, bool current) {
  const Theme& t = ui.theme;
  const float right = block.labels.right() - 8;
  const std::string time = lanes.on_devices ? human_time(lanes.length) : "host times";
  const float y = block.bands.y + 1;
  ui.text_right(right, y, Type::small, t.dim, time);
  ui.text_cut(block.labels.x, y,
              right - block.labels.x - ui.width(Type::small, time) - 8, Type::small,
              current ? t.accent : t.text, name);
  size_t hidden = lanes.left_out;
  for (const LanePhase& phase : lanes.phases) hidden += !shows_band(block, phase);
  if (hidden == 0 || block.bands.h < 2 * kBand) return;
  ui.text_right(right, y + kBand, Type::small, t.faint,
                fmt::format("and {} phase{}", hidden, hidden == 1 ? "" : "s"));
}

void draw_shorter(const Ui& ui, const StackedBlock& block, int64_t longest,
                  bool compared) {
  const int64_t less = longest - block.length;
  const float x = block.x(block.length), end = block.bands.right();
  if (less <= 0) return;
  ui.hatch({x, block.bands.y, end - x, block.lanes.bottom() - block.bands.y},
           with_alpha(ui.theme.faint, 0.25f));
  const std::string words = human_time(less) + " shorter";
  const float wide = ui.width(Type::small, words) + 12;
  if (x + 6 + wide > end || !compared) return;
  const Rect box{x + 6, block.bands.y, wide, kBand - 1};
  ui.fill(box, ui.theme.panel, 3);
  ui.text_centred(box, Type::small, ui.theme.dim, words);
}

/// Says what is under the mouse: the moment, and the phases that it is in.
void draw_stacked_tip(const Ui& ui, const StackedBlock& block, const StepLanes& lanes,
                      int64_t time) {
  std::string tip = human_time(time) + " into the step; a click goes there";
  for (const LanePhase& phase : lanes.phases) {
    if (!band_of(block, phase).contains(ImGui::GetIO().MousePos) &&
        (time < phase.begin || time >= phase.end)) {
      continue;
    }
    tip +=
        fmt::format("\n{}: {}, from {} to {}", phase.name, human_time(phase.length()),
                    human_time(phase.begin), human_time(phase.end));
  }
  ui.tooltip(tip);
}

void stacked_input(const Ui& ui, const StackedBlock& block, App& app,
                   const StepLanes& lanes, size_t number) {
  ImGui::PushID(static_cast<int>(number));
  if (ui.clicked("name", block.labels)) app.select_trace(number);
  const Rect plot{block.bands.x, block.bands.y, block.bands.w,
                  block.lanes.bottom() - block.bands.y};
  bool hovered = false;
  const bool clicked = ui.clicked("moment", plot, &hovered);
  // Without a mouse its place is -FLT_MAX, and the moment no int64_t.
  const double moment = (ImGui::GetIO().MousePos.x - plot.x) / block.per_ns;
  const bool in_step = moment >= 0 && moment < static_cast<double>(block.length);
  const int64_t time = in_step ? static_cast<int64_t>(moment) : 0;
  if (hovered && in_step) draw_stacked_tip(ui, block, lanes, time);
  ImGui::PopID();
  if (!clicked || !in_step) return;
  app.select_trace(number);
  app.settings.transport.playing = false;
  app.go({Order::time, lanes.begin + time, 0, 0.5f, app.trace().state.rank});
}

/// Returns what the bars mean, and whose times they are.
std::string stacked_note(const std::vector<OpenTrace*>& traces) {
  std::string clocks(clock_words(*traces[0]->model));
  for (const OpenTrace* trace : traces) {
    if (clock_words(*trace->model) == clock_words(*traces[0]->model)) continue;
    clocks.clear();
  }
  for (size_t i = 0; i < traces.size() && clocks.empty(); ++i) {
    for (size_t j = 0; j < traces.size(); ++j) {
      clocks += fmt::format("{}{} {}", j > 0 ? ", " : "", compared_name(traces, j),
                            clock_words(*traces[j]->model));
    }
  }
  return clocks +
         " · outline: busy for less than 10 % · below the phases, a bar's height is "
         "the "
         "share of time that is busy";
}

}  // namespace

const StepLanes& lanes_here(OpenTrace& trace) {
  if (trace.lanes == nullptr || trace.lanes_of != trace.state.step) {
    trace.lanes =
        std::make_shared<const StepLanes>(step_lanes(*trace.model, trace.state.step));
    trace.lanes_of = trace.state.step;
  }
  return *trace.lanes;
}

float stacked_height(const std::vector<OpenTrace*>& traces, const StackedFit& fit) {
  float high = kStackedTitle + kStackedAxis + 2 * kStackedMargin -
               kStackedGap;  // a gap less than blocks
  for (OpenTrace* trace : traces) {
    const StepLanes& lanes = lanes_here(*trace);
    high += bands_height(lanes, fit) + lanes_height(lanes, fit) + kStackedGap;
  }
  return high;
}

StackedFit stacked_fit(const std::vector<OpenTrace*>& traces, float height) {
  for (const StackedFit& fit : kStackedFits) {
    if (height >= stacked_height(traces, fit)) return fit;
  }
  return *std::rbegin(kStackedFits);
}

StackedLayout lay_out_stacked(const Rect& inside,
                              const std::vector<OpenTrace*>& traces) {
  StackedLayout layout;
  layout.fit = stacked_fit(traces, inside.h + kStackedTitle);
  const float used = stacked_height(traces, layout.fit) - kStackedTitle;
  const auto gaps = static_cast<float>(std::max<size_t>(1, traces.size() - 1));
  const float gap = std::clamp(kStackedGap + std::floor((inside.h - used) / gaps),
                               kStackedGap, kWidestGap);
  Rect room{inside.x + 14, inside.y + kStackedMargin, inside.w - 28,
            inside.h - 2 * kStackedMargin};
  int64_t longest = 1;
  for (OpenTrace* trace : traces) {
    longest = std::max(longest, lanes_here(*trace).length);
  }
  layout.axis = room.take_top(kStackedAxis);
  layout.axis.take_left(kStackedLabels);
  for (OpenTrace* trace : traces) {
    const StepLanes& lanes = lanes_here(*trace);
    StackedBlock block;
    const float bands = bands_height(lanes, layout.fit);
    const float below = lanes_height(lanes, layout.fit);
    Rect whole = room.take_top(bands + below);
    block.labels = whole.take_left(kStackedLabels);
    block.bands = whole.take_top(bands);
    block.lanes = whole;
    block.per_ns = layout.axis.w / static_cast<float>(longest);
    block.length = lanes.length;
    layout.blocks.push_back(block);
    room.take_top(gap);
  }
  return layout;
}

void draw_stacked(const Ui& ui, const Rect& area, App& app,
                  const std::vector<OpenTrace*>& traces) {
  const Rect inside = ui.card(area, "ONE TIME SCALE", stacked_note(traces));
  const StackedLayout layout = lay_out_stacked(inside, traces);
  int64_t longest = 0;
  for (const StackedBlock& block : layout.blocks) {
    longest = std::max(longest, block.length);
  }
  draw_stacked_axis(ui, layout);
  const bool compared = why_incomparable(traces).empty();
  for (size_t i = 0; i < traces.size(); ++i) {
    const StackedBlock& block = layout.blocks[i];
    const StepLanes& lanes = lanes_here(*traces[i]);
    draw_shorter(ui, block, longest, lanes.on_devices && compared);
    draw_step_lanes(ui, block, *traces[i], lanes, layout.fit);
    if (i + 1 < traces.size()) {
      draw_links(ui, block, layout.blocks[i + 1], lanes, lanes_here(*traces[i + 1]),
                 compared);
    }
  }
  for (size_t i = 0; i < traces.size(); ++i) {
    const StackedBlock& block = layout.blocks[i];
    const StepLanes& lanes = lanes_here(*traces[i]);
    draw_bands(ui, block, lanes);
    draw_stacked_name(ui, block, lanes, compared_name(traces, i),
                      traces[i] == &app.trace());
    const int64_t now = traces[i]->state.now - lanes.begin;
    if (now >= 0 && now <= block.length) {
      ui.fill({std::round(block.x(now)) - 0.5f, block.bands.y - 3, 1.5f,
               block.lanes.bottom() - block.bands.y + 6},
              ui.theme.accent);
    }
    stacked_input(ui, block, app, lanes, i);
  }
}

}  // namespace lockstep::gui
