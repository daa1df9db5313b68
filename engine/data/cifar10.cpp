#include "engine/data/cifar10.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <utility>

#include "base/program.h"
#include "engine/data/pickle.h"
#include "engine/data/transforms.h"

namespace lockstep::data {
namespace fs = std::filesystem;
namespace {

constexpr int64_t kPadding = 4;

[[noreturn]] void fail(const std::string& name, const std::string& what) {
  throw std::runtime_error(
      fmt::format("{}: {}; fix: download the data set again with `{} data fetch`", name,
                  what, program()));
}

fs::path folder_of(const fs::path& folder) {
  if (const auto found = cifar10_folder(folder)) return *found;
  if (!fs::is_directory(folder)) {
    throw std::runtime_error(fmt::format(
        "{}: {}; fix: use the folder that contains cifar-10-batches-bin, or download "
        "the data set with `{} data fetch`",
        folder.string(),
        fs::exists(folder) ? "is a file, not a folder" : "no such folder", program()));
  }
  fail(folder.string(), "no CIFAR-10 files (data_batch_1.bin, …) in this folder");
}

/// Appends label and pixels of each image of a batch. Throws std::runtime_error that
/// says what it lacks.
void append_batch(const Pickle& pickle, std::vector<uint8_t>& records) {
  using Kind = PickledValue::Kind;
  const auto require = [](bool holds, const char* what) {
    if (!holds) throw std::runtime_error(what);
  };
  const PickledValue* data = pickle.find(pickle.at(pickle.root), "data");
  const PickledValue* labels = pickle.find(pickle.at(pickle.root), "labels");
  require(data && data->kind == Kind::array && data->items.size() == 4,
          "it has no array `data`");
  require(labels && labels->kind == Kind::list, "it has no list `labels`");
  const PickledValue &shape = pickle.at(data->items[0]),
                     &dtype = pickle.at(data->items[1]),
                     &columns = pickle.at(data->items[2]),
                     &bytes = pickle.at(data->items[3]);
  const size_t images = labels->items.size();
  require(dtype.kind == Kind::dtype && dtype.text == "u1" &&
              columns.kind == Kind::boolean && columns.integer == 0,
          "its `data` are not bytes in rows");
  require(shape.kind == Kind::tuple && shape.items.size() == 2 &&
              pickle.at(shape.items[0]).integer == static_cast<int64_t>(images) &&
              pickle.at(shape.items[1]).integer == kCifar10Pixels &&
              bytes.kind == Kind::text && bytes.text.size() == images * kCifar10Pixels,
          "its `data` are not 3072 bytes for each label");
  for (size_t i = 0; i < images; ++i) {
    const PickledValue& label = pickle.at(labels->items[i]);
    require(label.kind == Kind::integer && label.integer >= 0 && label.integer < 256,
            "a label is not a number");
    records.push_back(static_cast<uint8_t>(label.integer));
    const char* pixels = bytes.text.data() + i * kCifar10Pixels;
    records.insert(records.end(), pixels, pixels + kCifar10Pixels);
  }
}

// Appends the file's bytes to `records`.
void read_file(const fs::path& path, std::vector<uint8_t>& records) {
  std::error_code error;
  if (!fs::exists(path, error)) fail(path.string(), "no such file");
  const uintmax_t size = fs::file_size(path, error);
  if (error) fail(path.string(), "cannot be read: " + error.message());

  const size_t before = records.size();
  records.resize(before + size);
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(records.data() + before),
            static_cast<std::streamsize>(size));
  if (!file) fail(path.string(), fmt::format("cannot be read: {}", strerror(errno)));
}

/// Appends the records of a batch of Python's version: a pickled dict of `data`, an
/// array of N x 3072 bytes, and `labels`.
void read_pickled(const fs::path& path, std::vector<uint8_t>& records) {
  constexpr uintmax_t kMost = 64 << 20;  // twice a batch
  const std::string name = path.string();
  std::error_code error;
  if (fs::file_size(path, error) > kMost && !error) fail(name, "is too large");
  std::vector<uint8_t> bytes;
  read_file(path, bytes);
  try {
    const Pickle pickle = read_pickle(
        {reinterpret_cast<const char*>(bytes.data()), bytes.size()}, Pickled::arrays);
    append_batch(pickle, records);
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(
        fmt::format("{}: is no batch of CIFAR-10: {}; fix: remove its folder, and "
                    "download the data set with `{} data fetch`",
                    name, error.what(), program()));
  }
}

void check_records(std::span<const uint8_t> records, const std::string& name) {
  if (records.empty()) fail(name, "the file is empty");
  const auto size = static_cast<int64_t>(records.size());
  if (const int64_t rest = size % kCifar10Record; rest != 0) {
    fail(name,
         fmt::format("truncated: {} bytes are {} records of {} bytes plus {} bytes",
                     size, size / kCifar10Record, kCifar10Record, rest));
  }
  for (int64_t i = 0; i < size / kCifar10Record; ++i) {
    const int label = records[i * kCifar10Record];
    if (label >= kCifar10Classes) {
      fail(name, fmt::format("record {} has label {}, expected 0 to 9", i, label));
    }
  }
}

}  // namespace

Cifar10::Cifar10(const fs::path& folder, Split split, bool augment)
    : augment_(augment) {
  const fs::path found = folder_of(folder);
  for (const fs::path& path : cifar10_paths(found, split)) {
    const size_t before = records_.size();
    path.extension().empty() ? read_pickled(path, records_) : read_file(path, records_);
    check_records(std::span(records_).subspan(before), path.string());
  }
}

Cifar10::Cifar10(std::vector<uint8_t> records, const std::string& name, bool augment)
    : records_(std::move(records)), augment_(augment) {
  check_records(records_, name);
}

int64_t Cifar10::size() const {
  return static_cast<int64_t>(records_.size()) / kCifar10Record;
}

std::span<const uint8_t> Cifar10::record(int64_t index) const {
  return std::span(records_).subspan(index * kCifar10Record, kCifar10Record);
}

int64_t Cifar10::get_bytes(int64_t index, Draws& draws,
                           std::span<uint8_t> planes) const {
  const auto bytes = record(index);
  const auto augmentation =
      augment_ ? Augmentation::draw(kPadding, draws) : Augmentation::none(kPadding);
  crop_and_flip(bytes.subspan(1), {32, 32}, kPadding, augmentation, planes);
  return bytes[0];
}

std::vector<std::string> cifar10_files(Split split) {
  if (split == Split::test) return {"test_batch.bin"};
  return {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
          "data_batch_4.bin", "data_batch_5.bin"};
}

std::vector<fs::path> cifar10_paths(const fs::path& folder, Split split) {
  std::error_code error;
  const bool binary = fs::exists(folder / "data_batch_1.bin", error) ||
                      fs::exists(folder / "test_batch.bin", error);
  const bool pickled = fs::exists(folder / "data_batch_1", error) ||
                       fs::exists(folder / "test_batch", error);
  std::vector<fs::path> paths;
  for (const std::string& file : cifar10_files(split)) {
    paths.push_back(folder / file);
    if (pickled && !binary) paths.back().replace_extension();
  }
  return paths;
}

std::optional<fs::path> cifar10_folder(const fs::path& folder) {
  for (const fs::path& candidate : {folder, folder / "cifar-10-batches-bin"}) {
    for (const Split split : {Split::train, Split::test}) {
      for (const std::string& file : cifar10_files(split)) {
        std::error_code error;
        if (fs::exists(candidate / file, error)) return candidate;
      }
    }
  }
  for (const fs::path& candidate : {folder, folder / "cifar-10-batches-py"}) {
    std::error_code error;
    if (fs::is_regular_file(candidate / "data_batch_1", error)) return candidate;
    if (fs::is_regular_file(candidate / "test_batch", error)) return candidate;
  }
  return std::nullopt;
}

std::optional<fs::path> find_cifar10(const std::optional<std::string>& explicit_dir) {
  if (explicit_dir) return cifar10_folder(*explicit_dir);
  if (const auto here = cifar10_folder("data")) return here;
  const char* home = std::getenv("HOME");
  return home ? cifar10_folder(fs::path(home) / "data") : std::nullopt;
}

}  // namespace lockstep::data
