// Video through the ffmpeg program, which reads raw frames from a pipe.
#pragma once

#include <memory>
#include <string>

#include "gui/render/film.h"

namespace lockstep::gui {

/// Returns null if no video format has the extension of `path`. The sink throws as Film
/// does; unless finished, it stops ffmpeg and removes its output.
std::unique_ptr<Film::Sink> open_ffmpeg(const std::string& path, int fps);

}  // namespace lockstep::gui
