// What the viewer keeps between runs: the recent files, whether the tour was shown, and
// how the user arranged the panels. A small text file under $XDG_STATE_HOME; safe to
// delete.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "gui/app/app.h"

namespace lockstep::gui {

struct Kept {
  std::vector<std::string> files;  ///< newest first
  bool toured = false;
  bool light = false, tree = false, overlap = false, cpp_names = false, tracks = false;
  Panes panes;
  bool operator==(const Kept&) const = default;
};

inline constexpr size_t kMostFiles = 12;

/// Returns the folder of what is kept: $XDG_STATE_HOME/lockstep or ~/.local/state/…;
/// empty if neither is known.
std::filesystem::path state_folder();

/// One line per fact. Unknown and damaged lines are ignored, so that older and newer
/// versions read each other's files.
std::string kept_text(const Kept& kept);
Kept parse_kept(const std::string& text);

Kept load_kept();
/// Ignores errors: nothing depends on it.
void save_kept(const Kept& kept);

/// Copies the choices into settings, and back.
void apply_kept(const Kept& kept, Settings& settings);
void note_settings(const Settings& settings, Kept& kept);

/// Puts a file at the front of the recent ones.
void note_opened(const std::string& path, Kept& kept);

}  // namespace lockstep::gui
