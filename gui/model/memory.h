// A device's memory by what it holds.
#pragma once

#include <array>
#include <cstdint>
#include <numeric>

namespace lockstep::gui {

/// The categories of `memory` counters, in the order of the trace's contract.
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
