#include "gui/render/film.h"

#include <fmt/format.h>

#include <filesystem>
#include <stdexcept>
#include <utility>

namespace lockstep::gui {

namespace {

class Pictures : public Film::Sink {
 public:
  /// A file name is `before`, the number with at least `digits` digits, and `after`.
  Pictures(std::string before, int digits, std::string after)
      : before_(std::move(before)), digits_(digits), after_(std::move(after)) {}
  void add(const Image& frame) override {
    write_png(frame, fmt::format("{}{:0{}}{}", before_, number_++, digits_, after_));
  }
  void finish() override {}

 private:
  std::string before_;
  int digits_;
  std::string after_;
  int number_ = 0;
};

std::unique_ptr<Film::Sink> pictures_in(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    throw std::runtime_error(fmt::format(
        "{}: the folder cannot be created ({}); fix: choose another location", folder,
        error.message()));
  }
  return std::make_unique<Pictures>(folder + "frame", 5, ".png");
}

/// Returns null unless `path` contains one %d or %0Nd and ends in .png.
std::unique_ptr<Film::Sink> numbered_pictures(const std::string& path) {
  const size_t percent = path.find('%');
  if (!path.ends_with(".png") || percent == path.npos) return nullptr;
  std::string after = path.substr(percent + 1);
  int digits = 1;
  if (after.size() > 2 && after[0] == '0' && after[1] >= '1' && after[1] <= '9') {
    digits = after[1] - '0';
    after.erase(0, 2);
  }
  if (!after.starts_with('d') || after.find('%') != after.npos) return nullptr;
  return std::make_unique<Pictures>(path.substr(0, percent), digits, after.substr(1));
}

std::unique_ptr<Film::Sink> open(const std::string& path, int fps) {
  if (path.ends_with('/')) return pictures_in(path);
  if (auto pictures = numbered_pictures(path)) return pictures;
  if (auto film = open_ffmpeg(path, fps)) return film;
  throw std::runtime_error(
      fmt::format("{}: unknown video format; fix: end the name in .mp4, .webm, .webp "
                  "or .gif, or in %04d.png or / for numbered images",
                  path));
}

}  // namespace

Film::Film(const std::string& path, int fps) : path_(path) {
  if (fps < 1 || fps > 120) {
    throw std::runtime_error(fmt::format(
        "{}: {} frames per second are out of range; fix: choose 1 to 120", path, fps));
  }
  sink_ = open(path, fps);
}

Film::~Film() = default;

void Film::add(const Image& frame) {
  if (count_ == 0) {
    width_ = frame.width;
    height_ = frame.height;
  }
  if (frame.width != width_ || frame.height != height_) {
    throw std::runtime_error(
        fmt::format("{}: frame {} has {} x {} pixels, but the video has {} x {}; fix: "
                    "keep the frame size constant",
                    path_, count_, frame.width, frame.height, width_, height_));
  }
  sink_->add(frame);
  ++count_;
}

void Film::finish() {
  if (count_ == 0) {
    throw std::runtime_error(
        fmt::format("{}: a video needs at least one frame", path_));
  }
  sink_->finish();
}

}  // namespace lockstep::gui
