#include "engine/plan/tree.h"

#include <algorithm>
#include <map>

namespace lockstep::plan {

std::vector<int> tree_parents(int world, int per_machine) {
  std::vector<int> parents;
  for (int rank = 0; rank < world; ++rank) {
    const int machine = rank / per_machine;
    if (rank % per_machine != 0) {
      parents.push_back(rank - 1);
    } else {
      parents.push_back(machine == 0 ? -1 : (machine - 1) / 2 * per_machine);
    }
  }
  return parents;
}

std::vector<TreeSend> tree_all_reduce(const std::vector<int>& parents, int pieces) {
  const auto world = static_cast<int>(parents.size());
  std::vector<int> height(parents.size()), depth(parents.size());
  for (int rank = 1; rank < world; ++rank) depth[rank] = depth[parents[rank]] + 1;
  for (int rank = world - 1; rank > 0; --rank) {
    height[parents[rank]] = std::max(height[parents[rank]], height[rank] + 1);
  }
  std::vector<TreeSend> sends;
  for (int rank = 1; rank < world; ++rank) {
    for (int piece = 0; piece < pieces; ++piece) {
      const int up = piece + height[rank];
      const int down = height[0] + piece + depth[parents[rank]];
      sends.push_back({rank, parents[rank], piece, up, {}});
      sends.push_back({parents[rank], rank, piece, down, {}});
    }
  }
  std::stable_sort(sends.begin(), sends.end(),
                   [](const auto& a, const auto& b) { return a.step < b.step; });
  const auto goes_up = [&](const TreeSend& send) {
    return parents[send.from] == send.to;
  };
  std::map<std::pair<int, int>, std::vector<size_t>> up, down;  // by receiver, piece
  for (size_t i = 0; i < sends.size(); ++i) {
    TreeSend& send = sends[i];
    const std::pair key(send.from, send.piece);
    const bool from_above = !goes_up(send) && send.from != 0;
    send.after = from_above ? down[key] : up[key];
    (goes_up(send) ? up : down)[{send.to, send.piece}].push_back(i);
  }
  return sends;
}

}  // namespace lockstep::plan
