// Where the work of a call begins on the devices.
#include "gui/model/position.h"

namespace lockstep::gui {

Position at_first_task(const Model& model, const Position& position) {
  const Event& call = model.events[event_at(model, position)];
  if (call.is_task() || call.what() == Kind::step) return position;
  uint32_t first = kNoEvent;
  for (uint32_t place = call.order; place <= call.last; ++place) {
    const uint32_t event = model.program[place];
    if (!model.events[event].is_task() || model.events[event].dur == 0) continue;
    if (first == kNoEvent || model.events[event].ts < model.events[first].ts) {
      first = event;
    }
  }
  if (first == kNoEvent) return position;
  Position there = at_event(model, first);
  there.progress = 0;
  return there;
}

}  // namespace lockstep::gui
