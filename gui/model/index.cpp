// Converts file order and file ids to a Model.
#include "gui/model/raw_model.h"

namespace lockstep::gui {

Model index_model(RawModel raw) {
  sort_events(raw);
  index_ids(raw);
  index_lanes(raw);
  nest_events(raw);
  index_steps(raw);
  order_program(raw.model);
  index_copies(raw);
  index_collectives(raw);
  return std::move(raw.model);
}

}  // namespace lockstep::gui
