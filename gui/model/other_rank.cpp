// Finds the same point in another rank's program: ranks run the same code, so the path
// to an event (its step, the second `all_reduce` in it, …) leads to the corresponding
// event of the other rank.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "gui/model/position.h"

namespace lockstep::gui {

namespace {

constexpr uint32_t kMostChildren = 200'000;

/// Returns how many earlier children of the same parent have the event's name.
uint32_t ordinal(const Model& model, uint32_t event) {
  const Event& own = model.events[event];
  uint32_t count = 0, seen = 0;
  for (uint32_t place = model.events[own.parent].order + 1; place < own.order;) {
    const Event& sibling = model.events[model.program[place]];
    count += sibling.name == own.name;
    place = sibling.last;
    if (++seen > kMostChildren) break;
  }
  return count;
}

/// Returns child `count` of that name; kNoEvent if there are fewer children.
uint32_t child(const Model& model, uint32_t parent, uint32_t name, uint32_t count) {
  uint32_t seen = 0;
  const Event& caller = model.events[parent];
  for (uint32_t place = caller.order + 1; place < caller.last;) {
    const uint32_t index = model.program[place];
    const Event& event = model.events[index];
    if (event.name == name && count-- == 0) return index;
    place = event.last;
    if (++seen > kMostChildren) break;
  }
  return kNoEvent;
}

/// Returns the event of `rank` that corresponds to `event`: follows the path as far as
/// it exists in both programs.
uint32_t corresponding(const Model& model, uint32_t event, int rank) {
  std::vector<uint32_t> path;
  for (uint32_t at = event; at != kNoEvent && path.size() < 512;) {
    path.push_back(at);
    at = model.events[at].parent;
  }
  const Step& step = model.steps[model.step_of(model.events[event])];
  uint32_t found = step.event_of(rank);
  if (found == kNoEvent || path.back() != step.event_of(model.rank_of(event)))
    return found;
  for (size_t i = path.size() - 1; i-- > 0;) {
    const uint32_t next =
        child(model, found, model.events[path[i]].name, ordinal(model, path[i]));
    if (next == kNoEvent) break;
    found = next;
  }
  return found;
}

/// Returns the first task of a device that starts at `from` or later, else its last
/// one, or kNoEvent.
uint32_t task_on(const Model& model, int device, int64_t from) {
  uint32_t next = kNoEvent, last = kNoEvent;  // events are in order of time
  for (const Lane& lane : model.lanes) {
    if (lane.device != device || lane.events.empty()) continue;
    const auto at = std::lower_bound(
        lane.events.begin(), lane.events.end(), from,
        [&](uint32_t e, int64_t ts) { return model.events[e].ts < ts; });
    if (at != lane.events.end()) next = std::min(next, *at);
    const uint32_t end = lane.events.back();
    last = last == kNoEvent ? end : std::max(last, end);
  }
  return next == kNoEvent ? last : next;
}

std::optional<Position> on_device(const Model& model, const Position& position,
                                  int64_t id, std::string& why) {
  std::string known;
  int device = kHostDevice;
  for (size_t i = 0; i < model.devices.size(); ++i) {
    known += (known.empty() ? "" : ", ") + std::to_string(model.devices[i].id);
    if (model.devices[i].id == id) device = static_cast<int>(i);
  }
  if (device == kHostDevice) {
    why = fmt::format("no device {}; fix: name one of {}", id, known);
    return std::nullopt;
  }
  const uint32_t event = task_on(model, device, time_of(model, position));
  if (event == kNoEvent) {
    why = fmt::format("device {} runs nothing in this trace", id);
    return std::nullopt;
  }
  const Position there = at_event(model, event);
  return position.order == Order::time ? in_time_order(model, there) : there;
}

}  // namespace

std::optional<Position> at_choice(const Model& model, const Position& position,
                                  const Choice& choice, std::string& why) {
  Position there = position;
  if (choice.rank >= model.ranks()) {
    why = model.ranks() == 1 ? "the trace has one rank, 0"
                             : fmt::format("no rank {}; fix: name one of 0 to {}",
                                           choice.rank, model.ranks() - 1);
    return std::nullopt;
  }
  if (choice.rank >= 0) {
    there = at_rank(model, there, static_cast<int>(choice.rank));
    if (rank_of(model, there) != choice.rank) {
      why = fmt::format("rank {} has no such place", choice.rank);
      return std::nullopt;
    }
  }
  if (choice.device < 0) return there;
  return on_device(model, there, choice.device, why);
}

Position at_rank(const Model& model, const Position& position, int rank) {
  Position there = position;
  if (position.order == Order::time) {
    there.rank = rank;
    return there;
  }
  const uint32_t event = corresponding(model, event_at(model, position), rank);
  if (event == kNoEvent) return position;
  there = at_event(model, event);
  there.progress = position.progress;
  return there;
}

}  // namespace lockstep::gui
