// JPEG files of pictures that we made.
#pragma once

#include <cstddef>
#include <vector>

#include "engine/data/picture.h"

namespace lockstep::data {

/// `picture` as a baseline JPEG of quality 1 to 100. Throws std::runtime_error for one
/// without pixels or over 65,500 pixels wide or high.
std::vector<std::byte> encode_jpeg(const Picture& picture, int quality = 90);

}  // namespace lockstep::data
