// What the viewer remembers between runs: the files opened last, and that the tour was
// seen. One small text file below $XDG_STATE_HOME; losing it loses nothing.
#pragma once

#include <string>
#include <vector>

namespace lockstep::gui {

struct Recollection {
  std::vector<std::string> files;  ///< newest first
  bool toured = false;
};

Recollection recall();
void remember(const Recollection& memory);  ///< failing is not an error

}  // namespace lockstep::gui
