// Crops of photographs: torchvision's geometry.
#pragma once

#include <cstdint>

#include "engine/data/dataset.h"
#include "engine/data/decode.h"

namespace lockstep::data {

/// Crop to `cut`, resize to width x height, keep `part`, then flip.
struct View {
  Box cut;
  int64_t width = 0, height = 0;
  Box part;
  bool flip = false;
};

/// RandomResizedCrop(size), RandomHorizontalFlip(): a box of 8 to 100 % of the area
/// with an aspect ratio of 3:4 to 4:3 (log-uniform), drawn at most ten times; if none
/// fits, the largest central box with such a ratio. Draws, in this order: area and
/// ratio for each attempt, top and left, finally the flip.
View random_resized_crop(PictureSize picture, int64_t size, Draws& draws);

/// Resize(short_side), CenterCrop(size). REQUIRES: size ≤ short_side.
View center_crop(PictureSize picture, int64_t short_side, int64_t size);

}  // namespace lockstep::data
