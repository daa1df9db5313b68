// Aligns two traces: finds the position in one that corresponds to one in the other.
#include "gui/app/app.h"

#include <algorithm>
#include <string>

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

}  // namespace

Position aligned(const Model& from, const Position& position, const Model& to) {
  const uint32_t event = event_at(from, position);
  const size_t step = from.step_of(from.events[event]);
  const int own_rank = rank_of(from, position);
  const Step& other = to.steps[std::min(step, to.steps.size() - 1)];
  if (other.event == kNoEvent || from.steps[step].event == kNoEvent) return Position{};
  const std::vector<uint32_t> theirs = phases_of(to, other, to.rank_of(other.event));

  uint32_t phase = event;
  while (phase != kNoEvent && from.events[phase].what() != Kind::phase) {
    phase = from.events[phase].parent;
  }
  if (phase == kNoEvent) return at_event(to, other.event);
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
  uint32_t last = other.event;  // used if no shared phase precedes this one
  for (const uint32_t own : phases_of(from, from.steps[step], own_rank)) {
    if (from.events[own].order >= from.events[phase].order) break;
    const uint32_t* match = named(to, theirs, from.name_of(from.events[own]));
    if (match != nullptr) last = to.program[to.events[*match].last - 1];
  }
  return at_event(to, last);
}

}  // namespace lockstep::gui
