// Memory usage of a device by category.
#pragma once

#include <array>
#include <cstdint>
#include <numeric>

namespace lockstep::gui {

/// The categories of `memory` counters, in the order that the trace format defines.
inline constexpr std::array<const char*, 9> kMemoryCategories = {
    "parameters", "gradients", "buffers",   "activations", "inputs",
    "optimizer",  "buckets",   "workspace", "other"};

struct Memory {
  std::array<int64_t, kMemoryCategories.size()> bytes{};
  int64_t total() const {
    return std::accumulate(bytes.begin(), bytes.end(), int64_t{0});
  }
};

}  // namespace lockstep::gui
