// The keyboard: one table for both key handling and the overlay.
#pragma once

#include <vector>

namespace lockstep::gui {

class App;

struct KeyHelp {
  const char* group;
  const char* keys;
  const char* what;
};

/// Handles the keys in ImGui's input.
void handle_keys(App& app);

const std::vector<KeyHelp>& key_help();

}  // namespace lockstep::gui
