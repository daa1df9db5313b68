#include "gui/model/further_reading.h"

#include "gui/model/details.h"
#include "gui/text/pytorch_files.h"

namespace lockstep::gui {

std::string_view pytorch_file_at(const Model& model, const State& state) {
  for (auto at = state.stack.rbegin(); at != state.stack.rend(); ++at) {
    const Event& event = model.events[*at];
    std::string name = model.name_of(event);
    if (event.what() == Kind::collective) {
      const std::string why = string_arg(args_of(model, event), keys::why);
      if (!why.empty()) name = why;
    }
    // A hybrid's features are summed by its own code, not by DDP's reducer.
    const bool own =
        name == reasons::all_reduce && model.meta_text(top::mode) == "hybrid";
    const std::string_view file = own ? "" : pytorch_file(name);
    if (!file.empty()) return file;
  }
  return "";
}

}  // namespace lockstep::gui
