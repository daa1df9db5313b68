// CIFAR-10, the binary version.
//
// Six files of records; a record is one label byte and 32x32 bytes each of red, green
// and blue. The record count comes from the file's size, so small pieces of the set
// work like the whole. Source: https://www.cs.toronto.edu/~kriz/cifar.html
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/data/dataset.h"

namespace lockstep::data {

inline constexpr int64_t kCifar10Classes = 10;
inline constexpr int64_t kCifar10Pixels = 3 * 32 * 32;
inline constexpr int64_t kCifar10Record = 1 + kCifar10Pixels;

enum class Split { train, test };

/// data_batch_1.bin … data_batch_5.bin, or test_batch.bin.
std::vector<std::string> cifar10_files(Split split);

/// The set in memory, as bytes: 154 MB for the whole training set.
class Cifar10 : public Dataset {
 public:
  /// Reads a split from `folder` or from `folder`/cifar-10-batches-bin. Pictures are
  /// normalised, and augmented (random crop with padding 4, random flip) if asked.
  /// Throws std::runtime_error, one line with the file and the fix, for a missing
  /// folder or file, and for an unreadable, empty, truncated or mislabelled file.
  Cifar10(const std::filesystem::path& folder, Split split, bool augment);

  /// The same from records in memory; `name` stands for the file in messages.
  Cifar10(std::vector<uint8_t> records, const std::string& name, bool augment);

  int64_t size() const override;
  std::vector<int64_t> sample_shape() const override { return {3, 32, 32}; }
  int64_t classes() const override { return kCifar10Classes; }
  int64_t get(int64_t index, Draws& draws, std::span<float> image) const override;

  /// The stored bytes: label, red, green, blue.
  std::span<const uint8_t> record(int64_t index) const;

 private:
  std::vector<uint8_t> records_;
  bool augment_;
};

/// The folder with the files: `folder` itself or `folder`/cifar-10-batches-bin;
/// nullopt if neither holds one of the six.
std::optional<std::filesystem::path> cifar10_folder(
    const std::filesystem::path& folder);

/// Where the set is: in `explicit_dir` if given (and then nowhere else: who names a
/// folder does not want another one's pictures), or in ./data, or in ~/data.
std::optional<std::filesystem::path> find_cifar10(
    const std::optional<std::string>& explicit_dir);

}  // namespace lockstep::data
