// The form in which convolutions read their images and weights.
#pragma once

#include <limits>

#include "engine/backends/cuda/machine.h"

namespace lockstep::cuda {

/// Returns true if matrix products run in bfloat16 (`--amp`).
inline bool autocast() { return backend_options().amp; }

/// Returns `sizes`, of images or of their weights, with the channels that are
/// convolved. In bfloat16, images of few channels (RGB) get channels of zeros: cuDNN's
/// kernels for tensor cores load 16 bytes of a pixel at once. (In TF32, its kernels for
/// 3 channels are as fast.) Images that would get too large for an Index stay as they
/// are.
inline Shape padded(const Shape& sizes, const Shape& images, bool bf16) {
  constexpr int64_t kLeast = kPackBytes / sizeof(Bf16);
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  const bool pads =
      bf16 && images[1] < kLeast && images.numel() / images[1] <= kMost / kLeast;
  return pads ? Shape{sizes[0], kLeast, sizes[2], sizes[3]} : sizes;
}

/// Returns the layout in which convolutions read images or weights like `tensor`. Those
/// that they pad stay as they are.
inline LayoutPtr convolution_layout(const TensorSpec& tensor) {
  const Shape& sizes = tensor.sizes;
  const bool bf16 = autocast();
  if (sizes.rank() != 4 || padded(sizes, sizes, bf16) != sizes) return tensor.layout;
  return layout_of(sizes, activation_form(sizes, bf16));
}

}  // namespace lockstep::cuda
