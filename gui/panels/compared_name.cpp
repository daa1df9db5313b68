// The names of compared traces: the shortest that differ.
#include <algorithm>
#include <filesystem>

#include "gui/panels/stacked.h"

namespace lockstep::gui {

std::string compared_name(const std::vector<OpenTrace*>& traces, size_t index) {
  const std::filesystem::path own = traces[index]->model->name;
  const auto is_unique = [&](const auto& of) {
    return std::ranges::count(traces, of(*traces[index]),
                              [&](const OpenTrace* trace) { return of(*trace); }) == 1;
  };
  const auto mode = [](const OpenTrace& t) { return t.model->meta_text(top::mode); };
  const auto file = [](const OpenTrace& t) {
    return std::filesystem::path(t.model->name).filename();
  };
  if (!mode(*traces[index]).empty() && is_unique(mode)) return mode(*traces[index]);
  const std::string folder = own.parent_path().filename();
  return is_unique(file) || folder.empty() ? own.filename().string() : folder;
}

}  // namespace lockstep::gui
