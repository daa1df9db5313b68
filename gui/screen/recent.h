// What the viewer remembers between runs: the files opened last, and that the tour was
// seen. One small text file below $XDG_STATE_HOME; losing it loses nothing.
#pragma once

#include <string>
#include <vector>

namespace lockstep::gui {

struct RecentFiles {
  std::vector<std::string> files;  ///< newest first
  bool toured = false;
};

RecentFiles load_recent();
void save_recent(const RecentFiles& memory);  ///< failing is not an error

}  // namespace lockstep::gui
