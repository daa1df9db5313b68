// The CIFAR-10 data set in its binary version, or in Python's, which torchvision
// downloads.
//
// Six files of records; a record is one label byte and 32x32 bytes each of red, green
// and blue. The number of records follows from the file size, so small excerpts of the
// set also work. Source: https://www.cs.toronto.edu/~kriz/cifar.html
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/data/pixels.h"

namespace lockstep::data {

inline constexpr int64_t kCifar10Classes = 10;
inline constexpr int64_t kCifar10Pixels = 3 * 32 * 32;
inline constexpr int64_t kCifar10Record = 1 + kCifar10Pixels;

enum class Split { train, test };

/// Returns the file names: data_batch_1.bin … data_batch_5.bin, or test_batch.bin.
std::vector<std::string> cifar10_files(Split split);

/// Returns the paths of a split's files: in Python's version, without the endings.
std::vector<std::filesystem::path> cifar10_paths(const std::filesystem::path& folder,
                                                 Split split);

/// Holds the data set in memory as bytes: 154 MB for all training images.
class Cifar10 : public ImageDataset {
 public:
  /// Reads a split from `folder`, `folder`/cifar-10-batches-bin or, without executing
  /// anything of its pickles, `folder`/cifar-10-batches-py. Images are
  /// normalised and, if requested, augmented (random crop with padding 4, random flip).
  /// Throws std::runtime_error with a one-line message naming the file and the fix if a
  /// folder or file is missing, unreadable, empty, truncated or mislabelled.
  Cifar10(const std::filesystem::path& folder, Split split, bool augment);

  /// Reads records from memory; messages use `name` instead of a file name.
  Cifar10(std::vector<uint8_t> records, const std::string& name, bool augment);

  int64_t size() const override;
  std::vector<int64_t> sample_shape() const override { return {3, 32, 32}; }
  int64_t classes() const override { return kCifar10Classes; }
  int64_t get_bytes(int64_t index, Draws& draws,
                    std::span<uint8_t> planes) const override;
  const Normalize& normalize() const override { return cifar10_normalize(); }

  /// Returns the stored bytes of a record: label, red, green, blue.
  std::span<const uint8_t> record(int64_t index) const;

 private:
  std::vector<uint8_t> records_;
  bool augment_;
};

/// Returns the folder that contains the files: `folder`,
/// `folder`/cifar-10-batches-bin or `folder`/cifar-10-batches-py; nullopt if none
/// contains any of the six.
std::optional<std::filesystem::path> cifar10_folder(
    const std::filesystem::path& folder);

/// Searches for the data set: only in `explicit_dir` if given, else ./data and ~/data.
std::optional<std::filesystem::path> find_cifar10(
    const std::optional<std::string>& explicit_dir);

/// An archive and its MD5 sum. Source: https://www.cs.toronto.edu/~kriz/
struct Archive {
  std::string url = "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz";
  std::string md5 = "c32a1d4ab5d03f1284b67883e8d87530";
};

/// Downloads CIFAR-10 from its home page.
/// Returns `dir`/cifar-10-batches-bin. If `dir` does not contain the set, creates it
/// atomically with curl, md5sum and tar. Throws std::runtime_error with a one-line
/// message naming the cause and the fix if there is no network, the archive has a
/// different checksum, or `dir` contains a generated set.
std::filesystem::path cifar10_fetch(const std::filesystem::path& dir,
                                    const Archive& archive = {});

}  // namespace lockstep::data
