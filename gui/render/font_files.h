// Font files on this computer.
#pragma once

#include <string>

#include "gui/render/fonts.h"

namespace lockstep::gui {

/// Reads from `folder` and below, and only there, if it is not empty; else from the
/// system's and the user's font folders. Never throws: what cannot be read is not
/// there.
FontReader font_files(const std::string& folder);

}  // namespace lockstep::gui
