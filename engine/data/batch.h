// A batch: the data loader's output.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep::data {

/// `shape[0]` consecutive samples in host memory.
struct Batch {
  std::vector<int64_t> shape;    ///< N,C,H,W for images; N,F for feature vectors
  std::vector<float> images;     ///< row-major, product(shape) elements
  std::vector<int64_t> labels;   ///< N class indices
  std::vector<std::string> bad;  ///< why samples were omitted, if allowed

  int64_t size() const { return static_cast<int64_t>(labels.size()); }
};

}  // namespace lockstep::data
