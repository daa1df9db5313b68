// Encodes generated images as JPEG.
#pragma once

#include <cstddef>
#include <vector>

#include "engine/data/picture.h"

namespace lockstep::data {

/// Encodes `picture` as a baseline JPEG with a quality of 1 to 100. Throws
/// std::runtime_error if it has no pixels or a side of more than 65,500 pixels.
std::vector<std::byte> encode_jpeg(const Picture& picture, int quality = 90);

}  // namespace lockstep::data
