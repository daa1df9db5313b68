// The top bar: the open trace, the playback controls, and the current position.
#include <fmt/format.h>

#include <algorithm>

#include "gui/app/what_if.h"
#include "gui/model/details.h"
#include "gui/panels/panels.h"
#include "gui/panels/widgets.h"

namespace lockstep::gui {

namespace {

/// Returns the kind of device whose times the devices take; "" if they take their own.
std::string emulated_devices(const Model& model) {
  return string_arg(tracer::object_arg(meta_of(model), top::emulated_devices),
                    "device");
}

}  // namespace

std::string_view clock_words(const Model& model) {
  if (!model.has_device_times()) return "null: no times";
  if (!model.is_measured()) return values::emulated;
  return emulated_devices(model).empty() ? values::measured : "emulated devices";
}

std::string represented(const Model& model) {
  return model.represented.empty() ? "" : fmt::format(" of {}", model.ranks_told());
}

std::string trace_title(const Model& model) {
  const std::string mode = model.meta_text(top::mode);
  const auto n = model.devices.size();
  const std::string kind = mode == "single"         ? "one device"
                           : mode == "dp"           ? "DataParallel"
                           : mode == "dp-features"  ? "DataParallel of features"
                           : mode == "dp-criterion" ? "DataParallelModel"
                           : mode == "hybrid"       ? "hybrid data and model parallel"
                           : mode == "ddp"          ? "DistributedDataParallel"
                           : mode == "hogwild"      ? "Hogwild"
                           : mode == "locked"       ? "one model with a lock"
                           : mode == "local-sgd"    ? "local SGD"
                           : mode == "ps"           ? "parameter servers"
                                                    : mode;
  std::string text = model.meta_text(top::arch);
  if (text.empty()) text = model.name.substr(model.name.find_last_of('/') + 1);
  if (!kind.empty()) text += " · " + kind;
  if (const size_t servers = static_cast<size_t>(model.servers()); servers > 0) {
    text += fmt::format(" · {} worker{}, {} server{}", n - servers,
                        n - servers == 1 ? "" : "s", servers, servers == 1 ? "" : "s");
  } else if (n > 1) {
    text += fmt::format(" · {}{} {}", n, represented(model),
                        model.ranks() > 1 ? "ranks" : "devices");
  }
  if (model.alone >= 0) text += fmt::format(" · rank {} only", model.alone);
  return text;
}

namespace {

constexpr float kHeight = 26;

/// Returns the width of a chip, which is a framed label.
float chip_width(const Ui& ui, std::string_view text, Type type = Type::body) {
  return ui.width(type, text) + 20;
}

bool chip(const Ui& ui, const char* id, const Rect& r, std::string_view text, ImU32 ink,
          const char* tip) {
  bool hovered = false;
  const bool clicked = ui.clicked(id, r, &hovered);
  if (hovered) ui.tooltip(tip);
  if (hovered) ui.fill(r, ui.theme.hover, 6);
  ui.frame(r, ui.theme.line, 6);
  ui.text_cut(r.x + 10, r.y + (r.h - ui.line_height(Type::body)) / 2, r.w - 16,
              Type::body, ink, text);
  return clicked;
}

/// Draws the verdict of `trace check`: a tick, or a few words on what is broken.
void draw_verdict(const Ui& ui, const Rect& r, App& app) {
  const Theme& t = ui.theme;
  const Verdict& verdict = app.trace().verdict;
  const bool broken = verdict.state == Verdict::State::broken;
  const std::string tip = verdict_tip(verdict);
  const ImU32 ink = broken ? t.warning : t.dim;
  if (chip(ui, "verdict", r, verdict_words(verdict), ink, tip.c_str()) && broken) {
    app.go_to_violation();
  }
  if (verdict.state != Verdict::State::holds) return;
  const ImVec2 c = r.centre();
  const ImVec2 tick[] = {{c.x - 5, c.y}, {c.x - 1.5f, c.y + 4}, {c.x + 5.5f, c.y - 4}};
  ui.list->AddPolyline(tick, 3, verdict.unjudged > 0 ? t.dim : t.green, 0, 2);
}

float verdict_width(const Ui& ui, const Verdict& verdict) {
  if (verdict.state == Verdict::State::holds) return kHeight;
  return chip_width(ui, verdict_words(verdict));
}

struct Button {
  const char* id;
  Icon icon;
  Move move;
  const char* tip;
};

void draw_transport(const Ui& ui, float x, float y, App& app) {
  static constexpr Button buttons[] = {
      {"first", Icon::first, Move::back_step,
       "to the beginning of this training step  (page up)"},
      {"back", Icon::back, Move::back_over, "back over the previous call  (←)"},
      {"play", Icon::play, Move::first, "play or pause  (space)"},
      {"over", Icon::forward, Move::over, "over to the next call  (→)"},
      {"into", Icon::into, Move::into, "into what this call causes  (↓)"},
      {"caller", Icon::caller, Move::caller, "up to the caller  (↑)"},
      {"next", Icon::last, Move::step, "to the next training step  (page down)"}};
  for (const Button& button : buttons) {
    const bool is_play = button.icon == Icon::play;
    const Rect r{x, y, 32, kHeight};
    bool hovered = false;
    const bool clicked = ui.clicked(button.id, r, &hovered);
    if (hovered) ui.tooltip(button.tip);
    const Theme& t = ui.theme;
    ui.fill(r, is_play ? t.accent : hovered ? t.hover : t.raised, 6);
    if (!is_play) ui.frame(r, t.line, 6);
    const bool playing = app.settings.transport.playing;
    draw_icon(ui, r, is_play && playing ? Icon::pause : button.icon,
              is_play ? t.on_accent : t.text);
    if (clicked && is_play) app.settings.transport.playing = !playing;
    if (clicked && !is_play) app.move(button.move);
    x += 37;
  }
}

constexpr float kTransportWidth = 7 * 37 - 5;

/// Draws, from the right: help, time, step, order, pace, names. Omits what does not
/// fit; the keys still work.
void draw_right(const Ui& ui, const Rect& bar, float limit, App& app) {
  Settings& settings = app.settings;
  OpenTrace& trace = app.trace();
  const Model& model = *trace.model;
  const State& state = trace.state;
  const float y = bar.y + (bar.h - kHeight) / 2;
  float x = bar.right() - 11;
  const auto place = [&](std::string_view text, float least = 0) {
    const float w = std::max(least, chip_width(ui, text));
    if (x - w < limit) return Rect{};
    x -= w;
    const Rect r{x, y, w, kHeight};
    x -= 6;
    return r;
  };
  const Theme& t = ui.theme;
  Rect r = place("?");
  if (chip(ui, "help", r, "?", t.dim, "keys  (?)")) settings.help = !settings.help;

  const bool program = trace.position.order == Order::program;
  const double since =
      static_cast<double>(state.now - model.steps[state.step].begin) * 1e-6;
  const std::string step_text = fmt::format("step {}", model.steps[state.step].number);
  const std::string phase =
      state.phase == kNoEvent ? "" : model.name_of(model.events[state.phase]);
  const bool in_phase = !phase.empty() && phase != names::step;
  // In time order, devices may be in another phase than the host.
  const bool of_host =
      !program && model.lanes[model.events[state.event].lane].is_host();
  const std::string where =
      in_phase ? step_text + (of_host ? " · host: " : " · ") + phase : step_text;
  const std::string time = fmt::format("{:.3f} ms", since);
  const std::string pace = pace_text(trace, settings.transport);
  // In decreasing order of importance, placed from the right.
  const Rect time_box = place(time, 96);
  if (time_box.w > 0) {
    ui.frame(time_box, t.line, 6);
    ui.text_right(time_box.right() - 10, y + (kHeight - ui.line_height(Type::mono)) / 2,
                  Type::mono, t.text, time);
  }
  const Rect where_box = place(where, 150);
  if (chip(ui, "where", where_box, where, t.accent,
           "training step and phase; page up and page down, p and shift p")) {
    app.move(Move::phase);
  }
  const Rect order_box = place("program order");
  if (chip(ui, "order", order_box, program ? "program order" : "time order", t.dim,
           "program order: each call followed by what it caused. Time order: events in "
           "the order of their start times  (o)")) {
    app.go(program ? in_time_order(model, trace.position)
                   : in_program_order(model, trace.position));
  }
  const Rect pace_box = place(pace, 112);
  if (chip(ui, "pace", pace_box, pace, t.dim,
           "director: 45 s per step, the first of each pattern in full. Even pace: "
           "every "
           "event takes the same time. Real time: as fast as recorded  (e, − and =)")) {
    settings.transport.pace = next_pace(settings.transport.pace);
  }
  if (const Verdict& verdict = trace.verdict;
      bar.w <= kNamesTrace && verdict.state == Verdict::State::broken) {
    draw_verdict(ui, place(verdict_words(verdict)), app);
  }
  const Rect names_box = place("PyTorch");
  if (chip(ui, "names", names_box, settings.cpp_names ? "C++" : "PyTorch", t.dim,
           "switch between PyTorch's names and the C++ names  (c)")) {
    settings.cpp_names = !settings.cpp_names;
  }
}

}  // namespace

void draw_top_bar(const Ui& ui, const Rect& bar, App& app) {
  const Theme& t = ui.theme;
  ui.fill(bar, t.panel);
  ui.list->AddLine({bar.x, bar.bottom()}, {bar.right(), bar.bottom()}, t.line);
  const float text_y = bar.y + (bar.h - ui.line_height(Type::title)) / 2;
  float x = bar.x + 16;
  ui.text(x, text_y, Type::title, t.text, "lock");
  x += ui.width(Type::title, "lock");
  ui.text(x, text_y, Type::title, t.accent, "step");
  x += ui.width(Type::title, "step") + 16;
  if (!app.has_trace()) return;

  const float y = bar.y + (bar.h - kHeight) / 2;
  const Model& model = *app.trace().model;
  const bool roomy = bar.w > kNamesTrace;
  const float transport_x = roomy ? std::max(bar.x + bar.w * 0.36f, x + 330) : x;
  draw_transport(ui, transport_x, y, app);
  app.tour_places[1] = {transport_x, y, kTransportWidth, kHeight};
  draw_right(ui, bar, transport_x + kTransportWidth + 10, app);
  if (!roomy) return;

  const std::string clock(clock_words(model));
  const float clock_width = chip_width(ui, clock);
  const float verdict_wide = verdict_width(ui, app.trace().verdict);
  const std::string open = trace_title(model);
  const float room = transport_x - x - clock_width - verdict_wide - 26;
  const Rect open_box{x, y, std::min(room, chip_width(ui, open)), kHeight};
  const bool several = app.traces().size() > 1;
  if (chip(ui, "open", open_box, open, t.text,
           several ? "next open trace  (tab)" : model.name.c_str()) &&
      several) {
    app.select_trace((app.current() + 1) % app.traces().size());
  }
  const Rect clock_box{open_box.right() + 6, y, clock_width, kHeight};
  const bool toggled = chip(
      ui, "clock", clock_box, clock, clock == values::measured ? t.dim : t.warning,
      !model.has_device_times()
          ? "null devices compute nothing: order and bytes are real, times are not"
      : model.is_measured() && clock != values::measured
          ? fmt::format("the host's times as recorded; the devices take those of {} "
                        "and compute nothing",
                        emulated_devices(model))
                .c_str()
      : model.is_measured()
          ? "wall-clock times, as recorded; a click shows emulated ones  (shift j)"
      : shows_emulated(app)
          ? "emulated, as the sliders say; a click shows the recorded step  (shift "
            "j)"
          : "the same events re-timed on emulated devices");
  if (toggled) toggle_emulated(app);
  draw_verdict(ui, {clock_box.right() + 6, y, verdict_wide, kHeight}, app);
}

}  // namespace lockstep::gui
