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

/// Creates `dir`/cifar-10-batches-bin atomically with curl, md5sum and tar, and returns
/// it; does nothing if `dir` already holds the set. Throws std::runtime_error, one line
/// with the cause and the fix, if there is no network, the archive has another
/// checksum, or `dir` holds a generated set.
std::filesystem::path cifar10_fetch(const std::filesystem::path& dir,
                                    const Archive& archive = {});

}  // namespace lockstep::data
