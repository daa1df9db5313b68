#include <fmt/format.h>

#include "gui/model/details.h"
#include "gui/panels/panels.h"

namespace lockstep::gui {

std::string display_name(const Model& model, const Event& event, bool cpp) {
  if (cpp) {
    const std::string name = text_arg(args_of(model, event), "cpp");
    if (!name.empty()) return name;
  }
  return model.name_of(event);
}

std::string device_label(const Model& model, int device) {
  if (device == kHostDevice) return "host";
  return fmt::format("device {}", model.devices[device].id);
}

}  // namespace lockstep::gui
