// How a batch is divided: PyTorch's `chunk`.
#pragma once

#include <cstdint>
#include <vector>

namespace lockstep::plan {

/// Returns the sizes of the pieces into which `torch.chunk` divides `total` along a
/// dimension: ceil(total / chunks) each, except that the last may be smaller; there may
/// be fewer pieces than `chunks`. (9, 8) → 2, 2, 2, 2, 1. REQUIRES: total ≥ 1, chunks ≥
/// 1. Source: aten/src/ATen/native/TensorShape.cpp.
std::vector<int64_t> chunk_sizes(int64_t total, int64_t chunks);

}  // namespace lockstep::plan
