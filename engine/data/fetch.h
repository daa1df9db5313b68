// Fetching CIFAR-10 from its home.
#pragma once

#include <filesystem>
#include <string>

namespace lockstep::data {

/// An archive and its MD5 sum. Source of both: https://www.cs.toronto.edu/~kriz/
struct Archive {
  std::string url = "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz";
  std::string md5 = "c32a1d4ab5d03f1284b67883e8d87530";
};

/// Makes `dir`/cifar-10-batches-bin, with curl, md5sum and tar, and returns it; does
/// nothing if `dir` holds the set already. The folder appears whole or not at all.
/// Throws std::runtime_error, one line with the cause and the fix, without a network,
/// for an archive that is not the expected one, or where a generated set lies.
std::filesystem::path cifar10_fetch(const std::filesystem::path& dir,
                                    const Archive& archive = {});

}  // namespace lockstep::data
