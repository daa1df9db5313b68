#include "gui/model/position.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "gui/model/collectives.h"
#include "gui/model/details.h"
#include "gui/model/stage_messages.h"
#include "gui/model/state.h"
#include "tracer/analysis/pipeline.h"

namespace lockstep::gui {

namespace {

/// Returns the first and last place of a rank's program; first > last if it has none.
std::pair<uint32_t, uint32_t> range_of(const Model& model, int rank) {
  const auto index = static_cast<size_t>(rank);
  if (rank < 0 || index + 1 >= model.rank_places.size()) return {1, 0};
  const uint32_t begin = model.rank_places[index], end = model.rank_places[index + 1];
  if (begin == end) return {1, 0};
  return {begin, end - 1};
}

/// Returns the last event of a rank that starts at or before `ts`, ignoring marks.
uint32_t last_started(const Model& model, int64_t ts, int rank) {
  const auto [first, last] = range_of(model, rank);
  const bool any = first > last;  // the trace does not have this rank
  auto after = std::upper_bound(model.events.begin(), model.events.end(), ts,
                                [](int64_t t, const Event& e) { return t < e.ts; });
  while (after != model.events.begin()) {
    --after;
    if (after->what() == Kind::mark) continue;
    if (any || model.lanes[after->lane].rank == rank) {
      return static_cast<uint32_t>(after - model.events.begin());
    }
  }
  return model.program[any ? 0 : first];  // it has not started yet
}

const Event& event_in(const Model& model, uint32_t place) {
  return model.events[model.program[place]];
}

/// Returns the nearest place in the list after (or before) `place`, else `place`.
uint32_t next_in(const std::vector<uint32_t>& places, uint32_t place) {
  const auto found = std::upper_bound(places.begin(), places.end(), place);
  return found == places.end() ? place : *found;
}

uint32_t previous_in(const std::vector<uint32_t>& places, uint32_t place) {
  const auto found = std::lower_bound(places.begin(), places.end(), place);
  return found == places.begin() ? place : *(found - 1);
}

/// Returns the place after all that an event caused. After an outermost call, that is
/// the next one on its thread; if there is none, the last place that it caused.
uint32_t place_after(const Model& model, const Event& event) {
  const Event* root = &event;
  while (root->parent != kNoEvent) root = &model.events[root->parent];
  if (event.last < root->last) return event.last;
  const std::vector<uint32_t>& lane = model.lanes[root->lane].events;
  const auto next = std::find_if(
      std::upper_bound(lane.begin(), lane.end(), model.program[root->order]),
      lane.end(),
      [&](uint32_t other) { return model.events[other].parent == kNoEvent; });
  return next == lane.end() ? event.last - 1 : model.events[*next].order;
}

/// Returns the previous sibling, or the caller of the first sibling. The siblings of an
/// outermost call are those on its thread.
uint32_t back_over(const Model& model, uint32_t place) {
  const uint32_t parent = event_in(model, place).parent;
  if (parent == kNoEvent) {
    const std::vector<uint32_t>& lane = model.lanes[event_in(model, place).lane].events;
    auto before = std::lower_bound(lane.begin(), lane.end(), model.program[place]);
    while (before != lane.begin()) {
      const Event& other = model.events[*--before];
      if (other.parent == kNoEvent) return other.order;
    }
    return place;
  }
  uint32_t at = model.program[place - 1];
  while (at != parent && model.events[at].parent != parent) {
    at = model.events[at].parent;
  }
  return model.events[at].order;
}

uint32_t place_of_step(const Model& model, int64_t step, int rank) {
  const auto last = static_cast<int64_t>(model.steps.size()) - 1;
  const uint32_t event = model.steps[std::clamp<int64_t>(step, 0, last)].event_of(rank);
  return event == kNoEvent ? 0 : model.events[event].order;
}

/// Returns the start of the step or, at its start, that of the previous step (like ⏮).
uint32_t back_step(const Model& model, uint32_t place) {
  const auto step = static_cast<int64_t>(model.step_of(event_in(model, place)));
  const int rank = model.rank_of(model.program[place]);
  const uint32_t begin = place_of_step(model, step, rank);
  return place > begin ? begin : place_of_step(model, step - 1, rank);
}

}  // namespace

int rank_of(const Model& model, const Position& position) {
  if (position.order == Order::time) return position.rank;
  const auto behind = std::upper_bound(model.rank_places.begin(),
                                       model.rank_places.end() - 1, position.place);
  return static_cast<int>(behind - model.rank_places.begin()) - 1;
}

std::pair<uint32_t, uint32_t> places_of(const Model& model, const Position& position) {
  const auto range = range_of(model, rank_of(model, position));
  const auto last = static_cast<uint32_t>(model.program.size()) - 1;
  return range.first > range.second ? std::pair(0u, last) : range;
}

uint32_t event_at(const Model& model, const Position& position) {
  if (position.order == Order::program) {
    const auto last = static_cast<uint32_t>(model.program.size()) - 1;
    return model.program[std::min(position.place, last)];
  }
  uint32_t event = last_started(model, position.time, position.rank);
  if (model.events[event].end() > position.time) return event;
  const uint32_t first = model.steps.front().event_of(position.rank);
  if (first != kNoEvent) {  // nothing newer runs: show the training loop
    const Lane& main = model.lanes[model.events[first].lane];
    const uint32_t running = running_on(model, main, position.time);
    if (running != kNoEvent) return running;
  }
  while (model.events[event].end() <= position.time &&
         model.events[event].parent != kNoEvent) {
    event = model.events[event].parent;
  }
  return event;
}

int64_t time_of(const Model& model, const Position& position) {
  if (position.order == Order::time) return position.time;
  const Event& event = model.events[event_at(model, position)];
  const bool moves = event.is_task();
  return event.ts + (moves
                         ? static_cast<int64_t>(static_cast<double>(event.dur) *
                                                static_cast<double>(position.progress))
                         : 0);
}

Position at_event(const Model& model, uint32_t event) {
  return {Order::program, model.events[event].ts, model.events[event].order, 0.5f,
          model.rank_of(event)};
}

Position in_program_order(const Model& model, const Position& position) {
  if (position.order == Order::program) return position;
  return at_event(model, event_at(model, position));
}

Position in_time_order(const Model& model, const Position& position) {
  if (position.order == Order::time) return position;
  return {Order::time, time_of(model, position), position.place, 0.5f,
          rank_of(model, position)};
}

Position moved(const Model& model, const Position& from, Move move) {
  const uint32_t place = in_program_order(model, from).place;
  const auto [begin, end] = places_of(model, at_event(model, model.program[place]));
  const Event& event = event_in(model, place);
  const bool has_parent = event.parent != kNoEvent;
  const Event& parent = has_parent ? model.events[event.parent] : event;
  uint32_t to = place;
  switch (move) {
    case Move::into:
      to = std::min(place + 1, end);
      break;
    case Move::back:
      to = place == begin ? begin : place - 1;
      break;
    case Move::over:
      to = place_after(model, event);
      break;
    case Move::back_over:
      to = back_over(model, place);
      break;
    case Move::out:
      to = place_after(model, parent);
      break;
    case Move::caller:
      to = parent.order;
      break;
    case Move::movement:
      to = next_in(model.movements, place);
      break;
    case Move::back_movement:
      to = previous_in(model.movements, place);
      break;
    case Move::phase:
      to = next_in(model.phase_places, place);
      break;
    case Move::back_phase:
      to = previous_in(model.phase_places, place);
      break;
    case Move::step:
      to = std::max(place,
                    place_of_step(model, static_cast<int64_t>(model.step_of(event)) + 1,
                                  model.rank_of(model.program[place])));
      break;
    case Move::back_step:
      to = back_step(model, place);
      break;
    case Move::first:
      to = begin;
      break;
    case Move::last:
      to = end;
      break;
  }
  return at_event(model, model.program[std::clamp(to, begin, end)]);
}

namespace {

std::optional<int64_t> parse_time(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  const std::string unit = end;
  const double scale = unit == "s"    ? 1e9
                       : unit == "ms" ? 1e6
                       : unit == "us" ? 1e3
                       : unit == "ns" ? 1.0
                                      : 0.0;
  const double ns = value * scale;
  if (end == text.c_str() || scale == 0 || !(std::abs(ns) < 1e17)) return std::nullopt;
  return static_cast<int64_t>(ns);
}

std::optional<int64_t> parse_integer(const std::string& text) {
  int64_t value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole =
      result.ec == std::errc() && result.ptr == text.data() + text.size();
  return whole ? std::optional(value) : std::nullopt;
}

}  // namespace

namespace {

constexpr std::string_view kBucket = "bucket ";

/// Returns the first descendant of `whole` with this name; prefers phases.
uint32_t find_in(const Model& model, uint32_t whole, std::string_view name) {
  const Event& span = model.events[whole];
  for (const bool any : {false, true}) {
    for (uint32_t place = span.order; place < span.last; ++place) {
      const Event& event = event_in(model, place);
      if ((any || event.what() == Kind::phase) && model.name_of(event) == name) {
        return model.program[place];
      }
    }
  }
  return kNoEvent;
}

/// Returns the first event of this name in a rank's step, even if no call of the step
/// encloses it: one on an autograd thread, or a collective without its launch.
uint32_t find_beside(const Model& model, uint32_t step, std::string_view name) {
  const size_t own = model.step_of(model.events[step]);
  const int rank = model.rank_of(step);
  for (uint32_t i = 0; i < model.events.size(); ++i) {
    const Event& event = model.events[i];
    if (event.step == model.events[step].step && model.rank_of(i) == rank &&
        model.name_of(event) == name && model.step_of(event) == own) {
      return i;
    }
  }
  return kNoEvent;
}

/// Returns the action of a pipeline's schedule that an event is, as recorded by us or
/// by PyTorch's profiler.
std::optional<plan::PipelineAction> action_of(const Model& model, const Event& event) {
  constexpr std::string_view kRange = "PP:";
  const std::string_view name = model.name_of(event);
  if (name.starts_with(kRange)) return plan::parse_action(name.substr(kRange.size()));
  if (event.what() != Kind::phase) return std::nullopt;
  if (name != phases::forward && name != phases::backward) return std::nullopt;
  return plan::parse_action(string_arg(args_of(model, event), keys::action));
}

/// Returns the first event of a step (of any, if `step` is kNoEvent), on any rank, that
/// is an action; else sets `why`.
uint32_t find_action(const Model& model, uint32_t step,
                     const plan::PipelineAction& action, std::string& why) {
  const bool any = step == kNoEvent;
  const size_t own = any ? 0 : model.step_of(model.events[step]);
  int stages = 0, micro_batches = 0;
  for (uint32_t i = 0; i < model.events.size(); ++i) {
    const Event& event = model.events[i];
    if (event.is_task() || (!any && model.step_of(event) != own)) continue;
    const auto found = action_of(model, event);
    if (found == action) return i;
    if (!found) continue;
    stages = std::max(stages, found->stage + 1);
    micro_batches = std::max(micro_batches, found->micro_batch + 1);
  }
  why = (any ? std::string("the trace")
             : fmt::format("step {}", model.steps[own].number)) +
        " has no action '" + plan::to_text(action) + "'";
  why += stages == 0 ? ": it ran no pipeline"
                     : fmt::format(
                           "; its pipeline has the stages 0 to {} and the "
                           "micro-batches 0 to {}",
                           stages - 1, micro_batches - 1);
  return kNoEvent;
}

/// Resolves nested names: `backward`, `ResNet.forward`, `forward/conv2d`; `2B1`, an
/// action of a pipeline; and `bucket 1`.
std::optional<Position> at_names(const Model& model, uint32_t step, int64_t number,
                                 std::string_view names, std::string& why) {
  // A call of another program may be named after a file, with slashes.
  for (const auto find : {find_in, find_beside}) {
    const uint32_t whole = find(model, step, names);
    if (whole != kNoEvent) return at_event(model, whole);
  }
  if (const uint32_t half = find_message(model, step, names); half != kNoEvent) {
    return at_event(model, half);
  }
  if (names.starts_with(kBucket)) {
    const auto bucket = parse_integer(std::string(names.substr(kBucket.size())));
    if (bucket && *bucket >= 0) {
      const uint32_t event = bucket_event(model, model.step_of(model.events[step]),
                                          model.rank_of(step), *bucket, why);
      if (event == kNoEvent) return std::nullopt;
      return at_event(model, event);
    }
  }
  if (const auto action = plan::parse_action(names)) {
    const uint32_t event = find_action(model, step, *action, why);
    if (event == kNoEvent) return std::nullopt;
    return at_event(model, event);
  }
  uint32_t at = step;
  for (;;) {
    const size_t end = names.find('/');
    const std::string_view name = names.substr(0, end);
    uint32_t found = find_in(model, at, name);
    if (found == kNoEvent && at == step) found = find_beside(model, step, name);
    if (found == kNoEvent) {
      why = fmt::format("step {} has no phase, call or operation '{}'{}", number, name,
                        at == step ? "" : " in " + model.name_of(model.events[at]));
      return std::nullopt;
    }
    at = found;
    if (end == std::string_view::npos) return at_event(model, at);
    names.remove_prefix(end + 1);
  }
}

}  // namespace

std::optional<Position> parse_position(const Model& model, const std::string& whole,
                                       std::string& why) {
  std::string text = whole;
  int rank = model.rank_of(model.program.front());
  if (const size_t colon = text.find(':'); text.starts_with("rank")) {
    const auto number = parse_integer(text.substr(4, colon - 4));
    if (!number || *number < 0 || *number >= model.ranks()) {
      why = fmt::format("'{}' does not name a rank from rank0: to rank{}:", text,
                        model.ranks() - 1);
      return std::nullopt;
    }
    rank = static_cast<int>(*number);
    text = text.substr(colon + 1);
  }
  if (text.starts_with("#")) {
    const auto id = parse_integer(text.substr(1));
    const uint32_t event = id ? model.event_of_id(*id) : kNoEvent;
    if (event != kNoEvent) return at_event(model, event);
    why = fmt::format("no event has the id '{}'", text.substr(1));
    return std::nullopt;
  }
  if (text.starts_with("@")) {
    const auto time = parse_time(text.substr(1));
    if (time && *time >= 0 && *time <= model.length) {
      return Position{Order::time, *time, 0, 0.5f, rank};
    }
    why = fmt::format("'{}' is not a time from @0ms to @{:.3f}ms", text,
                      static_cast<double>(model.length) * 1e-6);
    return std::nullopt;
  }
  if (const auto action = plan::parse_action(text)) {
    const uint32_t event = find_action(model, kNoEvent, *action, why);
    if (event == kNoEvent) return std::nullopt;
    return at_event(model, event);
  }
  const size_t colon = text.find(':');
  const auto number = parse_integer(text.substr(0, colon));
  for (const Step& step : model.steps) {
    const uint32_t own = step.event_of(rank);
    if (!number || step.number != *number || own == kNoEvent) continue;
    if (colon == std::string::npos) return at_event(model, own);
    return at_names(model, own, *number, text.substr(colon + 1), why);
  }
  why = fmt::format(
      "no step '{}'; fix: name a position such as 2, 2:backward, 2:ResNet.forward, "
      "#1234 or @12.5ms",
      text.substr(0, colon));
  return std::nullopt;
}

}  // namespace lockstep::gui
