#include "gui/app/app.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace lockstep::gui {

namespace {

constexpr int kMaxEventsPerFrame = 100'000;

uint32_t last_place(const Model& model, const Position& at) {
  return places_of(model, at).second;
}

/// Returns the duration of a leaf, or 0 for a caller, whose callees take up its time.
double real_seconds(const Model& model, uint32_t place) {
  const Event& event = model.events[model.program[place]];
  const bool leaf = event.last == event.order + 1;
  return leaf ? static_cast<double>(event.dur) * 1e-9 : 0;
}

Position played_in_program(const Model& model, Position at, const Transport& transport,
                           float seconds) {
  double left = static_cast<double>(seconds) * transport.speed;
  const uint32_t last = last_place(model, at);
  for (int i = 0; i < kMaxEventsPerFrame && left > 0; ++i) {
    const double whole =
        transport.pace == Pace::even ? 1.0 / kEvenRate : real_seconds(model, at.place);
    const double rest = whole * (1 - static_cast<double>(at.progress));
    if (left < rest) {
      at.progress += static_cast<float>(left / whole);
      break;
    }
    if (at.place == last) {
      at.progress = 1;
      break;
    }
    left -= rest;
    at = at_event(model, model.program[at.place + 1]);
    at.progress = 0;
  }
  return at;
}

/// At an even pace, all gaps between event starts take the same time.
int64_t evenly_later(const Model& model, int64_t now, double events) {
  auto next = std::upper_bound(model.events.begin(), model.events.end(), now,
                               [](int64_t t, const Event& e) { return t < e.ts; });
  double time = static_cast<double>(now);
  for (int i = 0; i < kMaxEventsPerFrame && events > 0; ++i) {
    while (next != model.events.end() && static_cast<double>(next->ts) <= time) ++next;
    if (next == model.events.end()) {
      const double rest = static_cast<double>(model.length) - time;
      return static_cast<int64_t>(time + rest * std::min(1.0, events));
    }
    const int64_t before =
        next == model.events.begin() ? 0 : static_cast<int64_t>((next - 1)->ts);
    const double gap = std::max(1.0, static_cast<double>(next->ts - before));
    const double rest = (static_cast<double>(next->ts) - time) / gap;
    if (events < rest) return static_cast<int64_t>(time + events * gap);
    events -= rest;
    time = static_cast<double>(next->ts);
  }
  return static_cast<int64_t>(time);
}

Position played_in_time(const Model& model, Position at, const Transport& transport,
                        float seconds) {
  const double scaled = static_cast<double>(seconds) * transport.speed;
  if (transport.pace == Pace::real) {
    at.time += std::max<int64_t>(1, std::llround(scaled * 1e9));
  } else {
    at.time = std::max(at.time + 1, evenly_later(model, at.time, scaled * kEvenRate));
  }
  at.time = std::min(at.time, model.length);
  return at;
}

}  // namespace

Position played(const Model& model, const Position& from, Transport& transport,
                float seconds) {
  if (!transport.playing || seconds <= 0) return from;
  const bool program = from.order == Order::program;
  Position to = program ? played_in_program(model, from, transport, seconds)
                        : played_in_time(model, from, transport, seconds);
  const int rank = rank_of(model, from);
  const size_t step = program ? model.step_of(model.events[event_at(model, from)])
                              : model.step_at(from.time, rank);
  const Step& own = model.steps[step];
  const uint32_t beginning = own.event_of(rank);
  if (transport.loop && beginning != kNoEvent) {
    const Event& whole = model.events[beginning];
    const bool left = program
                          ? to.place >= whole.last ||
                                (to.place == last_place(model, to) && to.progress >= 1)
                          : to.time >= own.end;
    if (left) {
      to = at_event(model, beginning);
      to.progress = 0;
      if (!program) to.order = Order::time;
    }
    return to;
  }
  const bool ended = program ? to.place == last_place(model, to) && to.progress >= 1
                             : to.time >= model.length;
  if (ended) transport.playing = false;
  return to;
}

void change_speed(Transport& transport, bool faster) {
  transport.speed =
      std::clamp(transport.speed * (faster ? 2.0f : 0.5f), 1.0f / 1024, 1024.0f);
}

std::string speed_text(const Transport& transport) {
  if (transport.speed >= 1) return fmt::format("{:.0f}×", transport.speed);
  return fmt::format("1/{:.0f}×", 1 / transport.speed);
}

}  // namespace lockstep::gui
