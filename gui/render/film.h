// Frames become a film, or numbered pictures.
#pragma once

#include <memory>
#include <string>

#include "gui/render/image.h"

namespace lockstep::gui {

/// Takes frames of one size and writes, by the end of its name:
///
///   .mp4 .webm .webp .gif   a film, by the program ffmpeg; webp and gif run for ever
///   NAME%04d.png            pictures, numbered from 0
///   FOLDER/                 pictures FOLDER/frame00000.png ...; makes the folder
///
/// A film appears under its name when `finish` returns, and not before; pictures appear
/// one by one. All calls throw std::runtime_error with the name and the fix: no
/// ffmpeg, no such folder, a full disk, ffmpeg's own last words. Not thread-safe.
class Film {
 public:
  /// Looks at the name; the first frame starts ffmpeg. `fps`: 1 to 120 frames a second.
  Film(const std::string& path, int fps);
  ~Film();  ///< without `finish` nothing of a film stays behind
  Film(const Film&) = delete;
  Film& operator=(const Film&) = delete;

  void add(const Image& frame);
  void finish();  ///< the last call

  /// Where frames go: one for films, one for pictures.
  class Sink {
   public:
    virtual ~Sink() = default;
    virtual void add(const Image& frame) = 0;
    virtual void finish() = 0;
  };

 private:
  std::string path_;
  std::unique_ptr<Sink> sink_;
  int width_ = 0, height_ = 0;
  int count_ = 0;
};

/// A film by the program ffmpeg, which reads raw frames from a pipe. Null if no film is
/// known that ends like `path`. What it returns throws as `Film` says; without `finish`
/// it stops ffmpeg and leaves nothing behind.
std::unique_ptr<Film::Sink> open_ffmpeg(const std::string& path, int fps);

}  // namespace lockstep::gui
