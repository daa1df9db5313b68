// Films by the program ffmpeg, which reads raw frames from a pipe.
#pragma once

#include <memory>
#include <string>

#include "gui/render/film.h"

namespace lockstep::gui {

/// Null if no film is known that ends like `path`. What it returns throws as `Film`
/// says; without `finish` it stops ffmpeg and leaves nothing behind.
std::unique_ptr<Film::Sink> open_ffmpeg(const std::string& path, int fps);

}  // namespace lockstep::gui
