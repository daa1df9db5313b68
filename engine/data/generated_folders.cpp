#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <span>
#include <stdexcept>
#include <vector>

#include "base/file.h"
#include "engine/data/generated.h"
#include "engine/data/picture.h"

namespace lockstep::data {
namespace fs = std::filesystem;
namespace {

/// Converts three planes, as drawn by draw_picture, to pixels.
void interleave(std::span<const uint8_t> planes, Picture& picture) {
  const int64_t pixels = picture.width * picture.height;
  for (int64_t i = 0; i < pixels; ++i) {
    for (int64_t channel = 0; channel < 3; ++channel) {
      picture.rgbx[i * Picture::kPixel + channel] = planes[channel * pixels + i];
    }
  }
}

/// Writes the images without syncing each one: the folder is renamed at the end.
void write_pictures(const fs::path& folder, int64_t count, uint64_t seed,
                    const GeneratedFolders& o) {
  Picture picture;
  picture.resize(o.width, o.height);
  std::vector<uint8_t> planes(3 * o.width * o.height);
  for (int64_t label = 0; label < o.classes; ++label) {
    fs::create_directories(folder / fmt::format("n{:08}", label));
  }
  for (int64_t i = 0; i < count; ++i) {
    draw_picture(i, o.classes, {o.height, o.width}, seed, planes);
    interleave(planes, picture);
    const fs::path path =
        folder / fmt::format("n{0:08}/n{0:08}_{1}.JPEG", i % o.classes, i / o.classes);
    const std::vector<std::byte> bytes = encode_jpeg(picture);
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    if (!file.flush()) {
      throw std::runtime_error(path.string() +
                               ": cannot be written: " + std::strerror(errno));
    }
  }
}

}  // namespace

void generate_image_folders(const fs::path& folder, const GeneratedFolders& o) {
  if (o.classes < 1 || o.train < o.classes || o.test < o.classes) {
    throw std::runtime_error(
        fmt::format("{} classes require at least as many training and test images, but "
                    "got {} and {}",
                    o.classes, o.train, o.test));
  }
  AtomicFolder target(folder);
  write_pictures(target.path() / "train", o.train, o.seed, o);
  write_pictures(target.path() / "val", o.test, o.seed + 1, o);
  write_generated_marker(
      target.path(),
      fmt::format(
          "These are not photographs. lockstep generated these {} training and "
          "{} test\nimages of {} classes, {} x {} pixels (seed {}), in "
          "ImageNet's layout.\nAccuracies on them say nothing about ImageNet.\n",
          o.train, o.test, o.classes, o.width, o.height, o.seed));
  target.commit();
}

}  // namespace lockstep::data
