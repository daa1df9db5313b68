// What the viewer remembers between runs: the recent files, and that the tour was
// shown. A small text file below $XDG_STATE_HOME; safe to delete.
#pragma once

#include <string>
#include <vector>

namespace lockstep::gui {

struct RecentFiles {
  std::vector<std::string> files;  ///< newest first
  bool toured = false;
};

RecentFiles load_recent();
void save_recent(const RecentFiles& memory);  ///< failure is not an error

}  // namespace lockstep::gui
