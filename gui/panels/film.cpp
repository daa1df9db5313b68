// A film's frames: the middle panel with its caption, and the numbers that end it.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <numeric>

#include "base/units.h"
#include "gui/panels/panels.h"
#include "gui/panels/widgets.h"

namespace lockstep::gui {

namespace {

constexpr float kFilmMargin = 20;

void draw_film_title(const Ui& ui, const Rect& line, const OpenTrace& trace) {
  const Model& model = *trace.model;
  const std::string when = fmt::format(
      "step {} · {}", model.steps[trace.state.step].number, clock_words(model));
  const float wide = ui.width(Type::body, when);
  ui.text_right(line.right(), line.y + 2, Type::body, ui.theme.dim, when);
  ui.text_cut(line.x, line.y, line.w - wide - 20, Type::title, ui.theme.text,
              trace_title(model));
}

void draw_progress(const Ui& ui, const Rect& line, const Director& director) {
  if (director.script.shots.empty()) return;
  ui.bar(
      line,
      static_cast<float>(director.seconds / std::max(1e-9, director.script.seconds())),
      ui.theme.accent);
}

void add_step(const OpenTrace& trace, std::vector<FilmNumber>& numbers) {
  const Breakdown& step = trace.step;
  std::string words = "a training step";
  if (step.batch > 0) words += fmt::format(" of {} images", step.batch);
  if (const double rate = images_per_second(step); rate > 0) {
    words += fmt::format(": {:.{}f} images/s", rate, rate < 100 ? 1 : 0);
  }
  numbers.push_back({human_time(step.length), words});
}

/// Adds the share of what is done, and those of the largest `count` waits or transfers.
template <size_t N>
void add_shares(const std::array<int64_t, N>& times, size_t count,
                const std::string& whose,
                const std::function<std::string(size_t)>& name,
                std::vector<FilmNumber>& numbers) {
  constexpr double kWorthSaying = 0.02;
  const double whole = static_cast<double>(
      std::max<int64_t>(1, std::accumulate(times.begin(), times.end(), int64_t{0})));
  std::array<size_t, N> order;
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin() + 1, order.end(),
                   [&](size_t a, size_t b) { return times[a] > times[b]; });
  for (size_t i = 0; i <= count && i < N; ++i) {
    const double share = static_cast<double>(times[order[i]]) / whole;
    if (i > 0 && share < kWorthSaying) continue;
    numbers.push_back({percent(share), (i == 0 ? whose : "") + name(order[i])});
  }
}

/// Adds the bytes through the port that moves the most of them.
void add_port(const OpenTrace& trace, std::vector<FilmNumber>& numbers) {
  std::map<std::pair<int, bool>, int64_t> ports;
  for (const PortBytes& port : trace.step.ports) {
    if (port.device != kHostDevice) ports[{port.device, port.out}] += port.bytes;
  }
  const auto most =
      std::ranges::max_element(ports, {}, [](const auto& port) { return port.second; });
  if (most == ports.end()) return;
  const auto& [device, out] = most->first;
  numbers.push_back(
      {human_bytes(most->second),
       fmt::format("{} device {}, the most of any device", out ? "leave" : "reach",
                   trace.model->devices[static_cast<size_t>(device)].id)});
}

void draw_closing(const Ui& ui, const Rect& area, App& app) {
  const Theme& t = ui.theme;
  constexpr float kRow = 46, kGap = 18;
  const std::vector<FilmNumber> numbers = film_numbers(app.trace());
  ui.fill(area, t.panel, 8);
  ui.frame(area, t.line, 8);
  float column = 0, words = 0;
  for (const FilmNumber& number : numbers) {
    column = std::max(column, ui.width(Type::huge, number.value));
    words = std::max(words, ui.width(Type::prose, number.words));
  }
  const bool divided =
      pipeline_here(app.trace()) == nullptr && why_bar_height(app.trace()) > 0;
  const float bar = divided ? 40.0f : 0.0f;
  const float high = kRow * static_cast<float>(numbers.size()) + bar;
  const float wide = std::min(column + kGap + words, area.w - 2 * kFilmMargin);
  const float x = area.x + (area.w - wide) / 2;
  float y = area.y + (area.h - high) / 2;
  if (bar > 0) draw_why_bar(ui, {x, y, wide, bar}, app);
  y += bar;
  for (const FilmNumber& number : numbers) {
    ui.text_right(x + column, y, Type::huge, t.accent, number.value);
    ui.text_cut(x + column + kGap, y + 5, wide - column - kGap, Type::prose, t.text,
                number.words);
    y += kRow;
  }
}

}  // namespace

std::vector<FilmNumber> film_numbers(const OpenTrace& trace) {
  std::vector<FilmNumber> numbers;
  const Model& model = *trace.model;
  const size_t step = trace.state.step;
  const tracer::StepSummary* summary =
      trace.why == nullptr ? nullptr : trace.why->step(model.steps[step].number);
  const tracer::Pipeline* grid =
      trace.why == nullptr ? nullptr : trace.why->pipeline(model, step);
  if (model.has_device_times()) add_step(trace, numbers);
  if (grid != nullptr) {
    add_shares(
        grid->times.times, 3, "of the devices' time in the pipeline: ",
        [](size_t i) -> std::string {
          const auto slot = static_cast<tracer::Slot>(i);
          return slot == tracer::Slot::pass ? "passes" : words_of(slot).name;
        },
        numbers);
  } else if (summary != nullptr && summary->split.known) {
    add_shares(
        summary->split.spent.times, 3, "of the devices' time: ",
        [](size_t i) -> std::string {
          return words_of(static_cast<tracer::Spent>(i)).name;
        },
        numbers);
  }
  add_port(trace, numbers);
  return numbers;
}

void draw_film(const Ui& ui, const Rect& screen, App& app) {
  Rect room = screen.inset(kFilmMargin);
  draw_film_title(ui, room.take_top(34), app.trace());
  draw_progress(ui, room.take_bottom(4), app.trace().director);
  room.take_bottom(10);
  if (app.settings.cut == Cut::numbers) return draw_closing(ui, room, app);
  draw_middle_panel(ui, room, app);
}

}  // namespace lockstep::gui
