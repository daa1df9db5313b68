// Downloads CIFAR-10 from its home page.
#pragma once

#include <filesystem>
#include <string>

namespace lockstep::data {

/// An archive and its MD5 sum. Source: https://www.cs.toronto.edu/~kriz/
struct Archive {
  std::string url = "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz";
  std::string md5 = "c32a1d4ab5d03f1284b67883e8d87530";
};

/// Returns `dir`/cifar-10-batches-bin. If `dir` does not contain the set, creates it
/// atomically with curl, md5sum and tar. Throws std::runtime_error with a one-line
/// message naming the cause and the fix if there is no network, the archive has a
/// different checksum, or `dir` contains a generated set.
std::filesystem::path cifar10_fetch(const std::filesystem::path& dir,
                                    const Archive& archive = {});

}  // namespace lockstep::data
