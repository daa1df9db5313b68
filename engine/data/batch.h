// A batch: what the loader hands to the training loop.
#pragma once

#include <cstdint>
#include <vector>

namespace lockstep::data {

/// `shape[0]` samples side by side, in host memory.
struct Batch {
  std::vector<int64_t> shape;   ///< N,C,H,W for images; N,F for feature vectors
  std::vector<float> images;    ///< row-major, product(shape) numbers
  std::vector<int64_t> labels;  ///< N class indices

  int64_t size() const { return static_cast<int64_t>(labels.size()); }
};

}  // namespace lockstep::data
