// The keyboard: one table, from which both the keys work and the overlay is drawn.
#pragma once

#include <vector>

namespace lockstep::gui {

class App;

struct KeyHelp {
  const char* group;
  const char* keys;
  const char* what;
};

/// Reads ImGui's keyboard and does what the keys say.
void handle_keys(App& app);

const std::vector<KeyHelp>& key_help();

}  // namespace lockstep::gui
