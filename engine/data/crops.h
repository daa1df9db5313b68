// Crops of photographs, with the geometry of torchvision.
#pragma once

#include <cstdint>

#include "engine/data/dataset.h"
#include "engine/data/decode.h"

namespace lockstep::data {

/// A crop to `cut`, a resize to width x height, a crop to `part`, and perhaps a flip.
struct View {
  Box cut;
  int64_t width = 0, height = 0;
  Box part;
  bool flip = false;
};

/// RandomResizedCrop(size) and RandomHorizontalFlip(): returns a box of 8 to 100 % of
/// the area with an aspect ratio of 3:4 to 4:3 (log-uniform). If none of ten attempts
/// fits, returns the largest central box with an allowed ratio. Draws, in this order,
/// the area and ratio for each attempt, top and left, and the flip.
View random_resized_crop(PictureSize picture, int64_t size, Draws& draws);

/// Resize(short_side) and CenterCrop(size). REQUIRES: size ≤ short_side.
View center_crop(PictureSize picture, int64_t short_side, int64_t size);

}  // namespace lockstep::data
