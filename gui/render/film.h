// Writes frames to a video or to numbered images.
#pragma once

#include <memory>
#include <string>

#include "gui/render/image.h"

namespace lockstep::gui {

/// Takes frames of equal size and writes, depending on how the name ends:
///
///   .mp4 .webm .webp .gif   a video, using the ffmpeg program; .webp and .gif loop
///   NAME%04d.png            images, numbered from 0
///   FOLDER/                 images FOLDER/frame00000.png ...; FOLDER is created
///
/// A video appears under its name only when `finish` returns; images appear one by one.
/// All functions throw std::runtime_error naming the file and a fix (ffmpeg or folder
/// missing, disk full) or giving the last error of ffmpeg. Not thread-safe.
class Film {
 public:
  /// Checks the name; ffmpeg starts with the first frame. `fps` must be 1 to 120.
  Film(const std::string& path, int fps);
  ~Film();  ///< discards a video that is not finished
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

/// Returns a sink that sends raw frames to the ffmpeg program, or null if `path` does
/// not end in a known video format. The sink throws as described for `Film`. If it is
/// destroyed before `finish`, it stops ffmpeg and leaves no file behind.
std::unique_ptr<Film::Sink> open_ffmpeg(const std::string& path, int fps);

}  // namespace lockstep::gui
