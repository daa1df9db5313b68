// Aligns two traces: finds the position in one that corresponds to one in the other.
#include <algorithm>
#include <string>

#include "gui/app/app.h"
#include "gui/model/details.h"

namespace lockstep::gui {

namespace {

/// Returns the phase events of a step, in program order.
std::vector<uint32_t> phases_of(const Model& model, const Step& step, int rank) {
  std::vector<uint32_t> phases;
  const uint32_t event = step.event_of(rank);
  if (event == kNoEvent) return phases;
  const Event& whole = model.events[event];
  for (uint32_t place = whole.order + 1; place < whole.last;) {
    const uint32_t index = model.program[place];
    if (model.events[index].what() == Kind::phase) phases.push_back(index);
    ++place;
    if (phases.size() > 64) break;
  }
  return phases;
}

const uint32_t* named(const Model& model, const std::vector<uint32_t>& phases,
                      const std::string& name) {
  for (const uint32_t& phase : phases) {
    if (model.name_of(model.events[phase]) == name) return &phase;
  }
  return nullptr;
}

/// Returns the all-reduce of the same bucket in the rank's step of the other trace;
/// kNoEvent if the event is of no bucket, or that step has no such one.
uint32_t same_bucket(const Model& from, uint32_t event, const Model& to, size_t step,
                     int rank) {
  if (from.events[event].what() != Kind::collective) return kNoEvent;
  const int64_t bucket = CollectiveArgs(from, event).facts.bucket;
  std::string why;
  return bucket < 0 ? kNoEvent : bucket_event(to, step, rank, bucket, why);
}

}  // namespace

Position aligned(const Model& from, const Position& position, const Model& to) {
  const uint32_t event = event_at(from, position);
  const size_t step = from.step_of(from.events[event]);
  const int own_rank = rank_of(from, position);
  const size_t their_step = std::min(step, to.steps.size() - 1);
  const Step& other = to.steps[their_step];
  if (other.event == kNoEvent || from.steps[step].event == kNoEvent) return Position{};
  const bool has_rank = other.event_of(own_rank) != kNoEvent;
  const int rank = has_rank ? own_rank : to.rank_of(other.event);
  const uint32_t whole = other.event_of(rank);
  const uint32_t bucket = same_bucket(from, event, to, their_step, rank);
  if (bucket != kNoEvent) return at_event(to, bucket);
  const std::vector<uint32_t> theirs = phases_of(to, other, rank);

  uint32_t phase = event;
  while (phase != kNoEvent && from.events[phase].what() != Kind::phase) {
    phase = from.events[phase].parent;
  }
  if (phase == kNoEvent) return at_event(to, whole);
  const uint32_t place = from.events[event].order;
  for (uint32_t at = phase; at != kNoEvent; at = from.events[at].parent) {
    const Event& own = from.events[at];
    if (own.what() != Kind::phase) continue;
    const uint32_t* match = named(to, theirs, from.name_of(own));
    if (match == nullptr) continue;
    const Event& counterpart = to.events[*match];
    const double share = static_cast<double>(place - own.order) /
                         static_cast<double>(std::max(1u, own.last - own.order));
    const auto offset = static_cast<uint32_t>(
        share * static_cast<double>(counterpart.last - counterpart.order));
    Position there = at_event(to, to.program[counterpart.order + offset]);
    there.progress = position.progress;
    return there;
  }
  uint32_t last = whole;  // used if no shared phase precedes this one
  for (const uint32_t own : phases_of(from, from.steps[step], own_rank)) {
    if (from.events[own].order >= from.events[phase].order) break;
    const uint32_t* match = named(to, theirs, from.name_of(from.events[own]));
    if (match != nullptr) last = to.program[to.events[*match].last - 1];
  }
  return at_event(to, last);
}

}  // namespace lockstep::gui
