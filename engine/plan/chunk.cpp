#include "engine/plan/chunk.h"

#include <algorithm>

namespace lockstep::plan {

std::vector<int64_t> chunk_sizes(int64_t total, int64_t chunks) {
  const int64_t piece = (total + chunks - 1) / chunks;
  std::vector<int64_t> sizes;
  for (int64_t taken = 0; taken < total; taken += piece) {
    sizes.push_back(std::min(piece, total - taken));
  }
  return sizes;
}

}  // namespace lockstep::plan
