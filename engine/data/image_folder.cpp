#include "engine/data/image_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <utility>

#include "engine/data/picture.h"
#include "engine/data/resize.h"
#include "engine/data/transforms.h"

namespace lockstep::data {
namespace fs = std::filesystem;
namespace {

/// Buffers that a worker reuses for every image.
struct Workbench {
  std::vector<uint8_t> bytes;
  Picture decoded, between, resized;
};

/// Writes value(channel, byte) of the part of a photograph that `look` chooses.
template <typename T, typename Value>
void load(const std::string& path, const std::function<View(PictureSize)>& look,
          const Value& value, std::span<T> planes) {
  thread_local Workbench bench;
  View view;
  read_whole(path, bench.bytes);
  const ChooseBox cut = [&](PictureSize size) { return (view = look(size)).cut; };
  decode(bench.bytes, cut, bench.decoded);
  resize(bench.decoded, view.width, view.height, view.part, bench.between,
         bench.resized);
  to_planes(bench.resized, view.flip, value, planes);
}

}  // namespace

ImageFolder::ImageFolder(const fs::path& folder, ImageFolderOptions options,
                         std::vector<std::string> class_names)
    : index_(folder), options_(options), class_names_(std::move(class_names)) {
  if (class_names_.empty()) class_names_ = index_.classes();
  const auto count = static_cast<int64_t>(class_names_.size());
  if (count > options_.classes) {
    throw std::runtime_error(fmt::format(
        "{}: {} class folders, but the model has {} outputs; fix: use --classes {}",
        folder.string(), count, options_.classes, count));
  }
  for (const std::string& name : index_.classes()) {
    const auto at = std::lower_bound(class_names_.begin(), class_names_.end(), name);
    if (at == class_names_.end() || *at != name) {
      throw std::runtime_error(fmt::format(
          "{}: this class is missing from train/; fix: add it there or remove it here",
          (folder / name).string()));
    }
    labels_.push_back(at - class_names_.begin());
  }
}

int64_t ImageFolder::get(int64_t index, Draws& draws, std::span<float> image) const {
  return read(index, draws, normalize(), image);
}

int64_t ImageFolder::get_bytes(int64_t index, Draws& draws,
                               std::span<uint8_t> planes) const {
  return read(index, draws, [](int, uint8_t byte) { return byte; }, planes);
}

template <typename T, typename Value>
int64_t ImageFolder::read(int64_t index, Draws& draws, const Value& value,
                          std::span<T> planes) const {
  const int64_t size = options_.size;
  const std::string path = index_.path(index);
  const auto look = [&](PictureSize picture) {
    if (options_.augment) return random_resized_crop(picture, size, draws);
    return center_crop(picture, size * 256 / kImageNetSize, size);
  };
  try {
    load(path, look, value, planes);
  } catch (const std::runtime_error& error) {
    throw BadSample(fmt::format("{}: {}", path, error.what()));
  }
  return labels_[index_.label(index)];
}

void read_whole(const std::string& path, std::vector<uint8_t>& bytes) {
  const auto refuse = [](const char* what) {
    throw std::runtime_error(fmt::format("{}: {}", what, std::strerror(errno)));
  };
  // Without O_NONBLOCK, opening a pipe without a writer would block.
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) refuse("cannot be opened");
  struct Closer {
    int file;
    ~Closer() { ::close(file); }
  } closer{file};

  struct stat facts{};
  if (::fstat(file, &facts) != 0) refuse("cannot be read");
  if (!S_ISREG(facts.st_mode)) throw std::runtime_error("is not a regular file");
  bytes.resize(facts.st_size);
  size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t got = ::read(file, bytes.data() + have, bytes.size() - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) refuse("cannot be read");
    if (got == 0) break;  // the file has shrunk
    have += got;
  }
  bytes.resize(have);
}

bool has_image_folders(const fs::path& folder) {
  std::error_code error;
  return fs::is_directory(folder / "train", error) &&
         fs::is_directory(folder / "val", error);
}

}  // namespace lockstep::data
