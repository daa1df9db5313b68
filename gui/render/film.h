// Writes frames as a video or as numbered images.
#pragma once

#include <memory>
#include <string>

#include "gui/render/image.h"

namespace lockstep::gui {

/// Takes frames of one size and writes, depending on the end of the name:
///
///   .mp4 .webm .webp .gif   a video, by the ffmpeg program; webp and gif loop forever
///   NAME%04d.png            images, numbered from 0
///   FOLDER/                 images FOLDER/frame00000.png ...; creates the folder
///
/// A video appears under its name only when `finish` returns; images appear one by one.
/// All calls throw std::runtime_error that names the file and the fix: ffmpeg is
/// missing, no such folder, a full disk, or ffmpeg's last error. Not thread-safe.
class Film {
 public:
  /// Checks the name; the first frame starts ffmpeg. `fps`: 1 to 120 frames per second.
  Film(const std::string& path, int fps);
  ~Film();  ///< removes the video unless finished
  Film(const Film&) = delete;
  Film& operator=(const Film&) = delete;

  void add(const Image& frame);
  void finish();  ///< must be the last call

  /// The destination of frames: a video or images.
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
