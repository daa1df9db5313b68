// The events of the viewer's Model by name: see tests/tracer/named_events.h. The keys
// are event indices.
#pragma once

#include "gui/model/model.h"
#include "tests/tracer/named_events.h"

namespace lockstep::gui::test {

inline std::string label_of(const Model& model, const Event& event) {
  std::string name = model.name_of(event);
  if (event.what() == Kind::step) name += " " + std::to_string(event.step);
  const Lane& lane = model.lanes[event.lane];
  return lane.is_host() ? name : name + "@" + model.devices[lane.device].name;
}

inline tracer::testing::NamedEvents names_of(const Model& model) {
  tracer::testing::NamedEvents names;
  std::vector<size_t> node_of(model.events.size());
  const int ranks = model.ranks();
  size_t top = 0;
  for (uint32_t place = 0; place < model.program.size(); ++place) {
    for (int rank = 0; ranks > 1 && rank < ranks; ++rank) {
      if (model.rank_places[rank] != place) continue;
      top = names.add(0, "rank " + std::to_string(rank), names.kGroup);
    }
    const uint32_t index = model.program[place];
    const Event& event = model.events[index];
    const Lane& lane = model.lanes[event.lane];
    node_of[index] =
        names.add(event.parent == kNoEvent ? top : node_of[event.parent],
                  label_of(model, event), index, lane.is_host() ? lane.thread : "");
  }
  return names;
}

}  // namespace lockstep::gui::test
