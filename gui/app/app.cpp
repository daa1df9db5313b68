#include "gui/app/app.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "gui/app/what_if.h"
#include "gui/model/details.h"

namespace lockstep::gui {

namespace {

constexpr size_t kEventsPerFrame = 20'000;  ///< takes about 10 ms to read

/// After each step, packets visibly depart and then stop halfway.
constexpr float kSettled = 0.5f, kSettlePerSecond = 2.0f;

}  // namespace

void App::begin_loading(std::string name, std::string_view text,
                        std::shared_ptr<const void> owned, bool shown) {
  error.clear();
  loading_shown_ = shown;
  try {
    loader_ = std::make_unique<Loader>(name, text, std::move(owned));
    loading_name_ = std::move(name);
  } catch (const std::exception& failure) {
    fail(failure.what());
  }
}

void App::fail(std::string message) {
  loader_.reset();
  error = std::move(message);
  if (has_trace()) say(error);  // only the start screen shows `error`
}

bool App::is_settling() const {
  if (message_left > 0) return true;
  if (traces_.empty()) return false;
  const Position& at = traces_[current_].position;
  return at.order == Order::program && at.progress < kSettled;
}

void App::finish_loading() {
  if (!loader_) return;
  try {
    while (!loader_->read(SIZE_MAX)) {
    }
    Model model = loader_->finish();
    loader_.reset();
    open(std::move(model));
  } catch (const std::exception& failure) {
    fail(failure.what());
  }
}

OpenTrace opened_trace(Model model) {
  OpenTrace trace;
  trace.model = std::make_unique<Model>(std::move(model));
  trace.mean = mean_breakdown(*trace.model);
  trace.lock = lock_uses(*trace.model);
  trace.owned =
      tracer::parameters_of_servers(meta_of(*trace.model), trace.model->servers());
  trace.verdict = judge(*trace.model);
  if (trace.verdict.state == Verdict::State::broken && trace.model->problems.empty()) {
    const Verdict::Violation& broken = trace.verdict.violations.front();
    trace.model->problems.push_back(
        fmt::format("breaks the law `{}`: {}", broken.law, broken.message));
  }
  trace.position = opening_position(*trace.model);
  if (trace.model->events.size() <= kAnalysedAtOnce) {
    trace.why = placed(*trace.model, analyse(why_source(*trace.model)));
  }
  return trace;
}

void App::open(Model model) {
  leave_what_if(*this);
  traces_.push_back(opened_trace(std::move(model)));
  if (std::exchange(loading_shown_, true)) select_trace(traces_.size() - 1);
  refresh(traces_.back());
}

void App::refresh(OpenTrace& trace) {
  trace.state = state_at(*trace.model, trace.position);
  const int rank = trace.state.rank;
  if (trace.step_of == trace.state.step && trace.step_rank == rank) return;
  trace.step = break_down(*trace.model, trace.state.step, rank);
  trace.step_of = trace.state.step;
  if (trace.mean.rank != trace.step.rank) {
    trace.mean = mean_breakdown(*trace.model, rank);
  }
  trace.step_rank = rank;
}

const Model* App::awaits_why() {
  const bool wanted =
      has_trace() &&
      (settings.why || settings.pipeline || settings.compare || settings.exposed ||
       settings.drawer == Drawer::sliders || settings.cut != Cut::window);
  if (!wanted) return nullptr;
  if (trace().why == nullptr) return trace().model.get();
  for (const OpenTrace& other : traces_) {
    if (other.why == nullptr) return other.model.get();
  }
  return nullptr;
}

void App::take_why(const char* text, WhyAnalysis analysis) {
  for (OpenTrace& own : traces_) {
    if (own.model->text.data() != text) continue;
    own.why = placed(*own.model, std::move(analysis));
    return;
  }
}

void App::go(const Position& position) {
  OpenTrace& own = trace();
  own.position = position;
  refresh(own);
  follow_step(*this);
  if (!settings.compare) return;
  for (OpenTrace& other : traces_) {
    if (&other == &own) continue;
    other.position = aligned(*own.model, own.position, *other.model);
    refresh(other);
  }
}

void App::move(Move move) {
  Position to = moved(*trace().model, trace().position, move);
  to.progress = 0;
  settings.transport.playing = false;
  go(to);
}

void App::go_to_violation() {
  OpenTrace& own = trace();
  const auto& violations = own.verdict.violations;
  for (size_t i = 0; i < violations.size(); ++i) {
    const uint32_t event = violations[own.violation++ % violations.size()].event;
    if (event == kNoEvent) continue;
    settings.transport.playing = false;
    return go(at_event(*own.model, event));
  }
}

void App::share_notes() {
  for (const OpenTrace& own : traces_) {
    if (!own.notes_changed) continue;
    for (OpenTrace& other : traces_) {
      const bool same = other.model->name == own.model->name &&
                        other.model->text.size() == own.model->text.size();
      if (&other != &own && same) other.notes = own.notes;
    }
  }
}

void App::say(std::string words) {
  constexpr float kShown = 6;
  message = std::move(words);
  message_left = kShown;
}

void App::close_trace(size_t index) {
  if (index >= traces_.size()) return;
  leave_what_if(*this);
  traces_.erase(traces_.begin() + static_cast<std::ptrdiff_t>(index));
  if (current_ > index || (current_ == traces_.size() && current_ > 0)) --current_;
  settings.editing = -1;
  if (traces_.size() < 2) settings.compare = false;
}

void App::focus_rank(int rank) {
  settings.transport.playing = false;
  go(at_rank(*trace().model, trace().position, rank));
}

std::string App::state_line() {
  if (traces_.empty()) return is_loading() ? "loading" : "no trace";
  const OpenTrace& own = trace();
  const Event& event = own.model->events[own.state.event];
  const tracer::Json args = args_of(*own.model, event);
  const bool program = own.position.order == Order::program;
  const bool ranks = own.model->ranks() > 1;
  const int64_t id = int_arg(args, keys::id, -1);  // events of other programs have none
  return fmt::format(
      "{} order, {}place {}, {:.3f} ms, {}{}{}", program ? "program" : "time",
      ranks ? fmt::format("rank {}, ", own.state.rank) : "", event.order,
      static_cast<double>(own.state.now) * 1e-6, id < 0 ? "" : fmt::format("#{} ", id),
      own.model->name_of(event), settings.transport.playing ? ", playing" : "");
}

void App::frame(const Rect& screen, float seconds) {
  if (loader_) {
    try {
      if (loader_->read(kEventsPerFrame)) finish_loading();
    } catch (const std::exception& failure) {
      fail(failure.what());
    }
  }
  message_left = std::max(0.0f, message_left - seconds);
  handle_keys(*this);
  if (has_trace()) {
    OpenTrace& own = trace();
    Position at = own.position;
    const bool directs =
        settings.transport.playing && settings.transport.pace == Pace::director;
    if (directs) {
      own.director.grid = settings.pipeline;
      at = directed(own, settings.transport, seconds);
    } else if (settings.transport.playing) {
      at = played(*own.model, at, settings.transport, seconds);
    } else if (at.order == Order::program && at.progress < kSettled) {
      at.progress = std::min(kSettled, at.progress + seconds * kSettlePerSecond);
    }
    if (settings.quiz && settings.transport.playing) {
      at = paused_for_question(*this, own.position, at);
    }
    go(at);
    close_if_left(own);
    if (directs) direct_timeline(own, seconds);
  }
  Ui ui(theme(), *fonts_);
  draw_screen(ui, screen, *this, loader_ ? loader_->progress() : 1, loading_name_);
  share_notes();
}

}  // namespace lockstep::gui
