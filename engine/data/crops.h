// Which part of a photograph is looked at: torchvision's geometry.
#pragma once

#include <cstdint>

#include "engine/data/dataset.h"
#include "engine/data/decode.h"

namespace lockstep::data {

/// Cut out `cut`, resize that to width x height, and keep `part` of it; then flip.
struct View {
  Box cut;
  int64_t width = 0, height = 0;
  Box part;
  bool flip = false;
};

/// RandomResizedCrop(size), RandomHorizontalFlip(): a box of 8 to 100 % of the area
/// whose sides are 3:4 to 4:3 (uniform in the logarithm), at most ten times drawn; if
/// none fits, the largest box in the middle of such a shape. Draws, in this order: area
/// and shape for each try, top and left, at the end the flip.
View random_resized_crop(PictureSize picture, int64_t size, Draws& draws);

/// Resize(short_side), CenterCrop(size). REQUIRES: size ≤ short_side.
View center_crop(PictureSize picture, int64_t short_side, int64_t size);

}  // namespace lockstep::data
