// Which tensors are sent together. DataParallel packs small tensors into groups of
// about 10 MiB; PyTorch uses two different rules for this, and so do we.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lockstep::plan {

inline constexpr int64_t kCoalesceLimit = 10 * 1024 * 1024;  ///< 10,485,760 B

/// Indices of the tensors in a group, in order.
using Group = std::vector<size_t>;

/// The rule of `broadcast_coalesced` (C++): appends each tensor and closes the group
/// once its size reaches the limit. Groups may exceed the limit.
/// Source: torch/csrc/utils/tensor_flatten.cpp, `take_tensors`.
std::vector<Group> coalesce_broadcast(const std::vector<int64_t>& bytes,
                                      int64_t limit = kCoalesceLimit);

/// The rule of `reduce_add_coalesced` (Python): closes the group *before* a tensor that
/// would exceed the limit. A group exceeds it only if a single tensor does.
/// Source: torch/_utils.py, `_take_tensors`.
std::vector<Group> coalesce_reduce(const std::vector<int64_t>& bytes,
                                   int64_t limit = kCoalesceLimit);

}  // namespace lockstep::plan
