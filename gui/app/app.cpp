#include "gui/app/app.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "gui/app/align.h"
#include "gui/app/keys.h"
#include "gui/app/layout.h"
#include "gui/model/details.h"

namespace lockstep::gui {

namespace {

constexpr size_t kEventsPerFrame = 20'000;  ///< about 10 ms of reading

/// After a step, packets leave visibly before they come to rest half way.
constexpr float kSettled = 0.5f, kSettlePerSecond = 2.0f;

}  // namespace

void App::begin_loading(std::string name, std::string_view text,
                        std::shared_ptr<const void> owned) {
  error.clear();
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
}

bool App::is_settling() const {
  if (seats_.empty()) return false;
  const Position& at = seats_[current_].position;
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

void App::open(Model model) {
  Seat seat;
  seat.model = std::make_unique<Model>(std::move(model));
  seat.mean = mean_breakdown(*seat.model);
  const uint32_t first = seat.model->steps.front().event;
  seat.position = first == kNoEvent ? Position{} : at_event(*seat.model, first);
  seats_.push_back(std::move(seat));
  current_ = seats_.size() - 1;
  refresh(seats_.back());
}

void App::refresh(Seat& seat) {
  seat.state = state_at(*seat.model, seat.position);
  if (seat.broken_down == seat.state.step) return;
  seat.step = break_down(*seat.model, seat.state.step);
  seat.broken_down = seat.state.step;
}

void App::go(const Position& position) {
  Seat& own = seat();
  own.position = position;
  refresh(own);
  if (!choices.compare) return;
  for (Seat& other : seats_) {
    if (&other == &own) continue;
    other.position = aligned(*own.model, own.position, *other.model);
    refresh(other);
  }
}

void App::move(Move move) {
  Position to = moved(*seat().model, seat().position, move);
  to.progress = 0;
  choices.transport.playing = false;
  go(to);
}

void App::look_at_rank(int rank) {
  choices.transport.playing = false;
  go(at_rank(*seat().model, seat().position, rank));
}

std::string App::state_line() {
  if (seats_.empty()) return is_loading() ? "loading" : "no trace";
  const Seat& own = seat();
  const Event& event = own.model->events[own.state.event];
  const tracer::Json args = args_of(*own.model, event);
  const bool program = own.position.order == Order::program;
  const bool ranks = own.model->ranks() > 1;
  return fmt::format(
      "{} order, {}place {}, {:.3f} ms, #{} {}{}", program ? "program" : "time",
      ranks ? fmt::format("rank {}, ", own.state.rank) : "", event.order,
      static_cast<double>(own.state.now) * 1e-6, number_arg(args, "id", -1),
      own.model->name_of(event), choices.transport.playing ? ", playing" : "");
}

void App::frame(const Rect& screen, float seconds) {
  if (loader_) {
    try {
      if (loader_->read(kEventsPerFrame)) finish_loading();
    } catch (const std::exception& failure) {
      fail(failure.what());
    }
  }
  take_keys(*this);
  if (has_trace()) {
    Seat& own = seat();
    Position at = own.position;
    if (choices.transport.playing) {
      at = played(*own.model, at, choices.transport, seconds);
    } else if (at.order == Order::program && at.progress < kSettled) {
      at.progress = std::min(kSettled, at.progress + seconds * kSettlePerSecond);
    }
    go(at);
  }
  Ui ui(theme(), *fonts_);
  draw_screen(ui, screen, *this, loader_ ? loader_->progress() : 1, loading_name_);
}

}  // namespace lockstep::gui
