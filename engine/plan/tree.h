// The tree all-reduce: sums travel from the leaves to the root, and the total back.
// With many devices, its messages are far fewer in a row than a ring's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lockstep::plan {

/// A message of a tree all-reduce.
struct TreeSend {
  int from, to;
  int piece;
  int step;  ///< messages of the same step may travel at the same time
  /// The earlier messages, as indexes, that `from` must have received.
  std::vector<size_t> after;
  bool operator==(const TreeSend&) const = default;
};

/// Returns the rank to which each rank sends its sum, −1 for rank 0, the root: in a
/// machine, the rank before it; between machines, of which the first ranks take part, a
/// binary tree. REQUIRES: world ≥ 1, per_machine ≥ 1.
std::vector<int> tree_parents(int world, int per_machine);

/// Returns all messages in the order of their steps. The buffer is cut into `pieces`
/// which follow each other through the tree. Each rank but the root sends every piece
/// once towards the root and receives it once: 2 (world − 1) times the buffer in all.
std::vector<TreeSend> tree_all_reduce(const std::vector<int>& parents, int pieces);

}  // namespace lockstep::plan
