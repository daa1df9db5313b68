// Finds font files on this computer.
#pragma once

#include <string>

#include "gui/render/fonts.h"

namespace lockstep::gui {

/// Searches `folder` recursively if it is not empty, otherwise the system's and the
/// user's font folders. Never throws: unreadable files count as missing.
FontReader font_files(const std::string& folder);

}  // namespace lockstep::gui
