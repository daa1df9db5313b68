// State that the viewer keeps between runs: the recent files, and whether the tour was
// shown. A small text file under $XDG_STATE_HOME; safe to delete.
#pragma once

#include <string>
#include <vector>

namespace lockstep::gui {

struct RecentFiles {
  std::vector<std::string> files;  ///< newest first
  bool toured = false;
};

RecentFiles load_recent();
void save_recent(const RecentFiles& memory);  ///< ignores errors

}  // namespace lockstep::gui
