#include "engine/plan/sampler_indices.h"

namespace lockstep::plan {

int64_t distributed_count(int64_t length, int world, bool drop_last) {
  return drop_last ? length / world : (length + world - 1) / world;
}

std::vector<int64_t> distributed_indices(const std::vector<int64_t>& order, int rank,
                                         int world, bool drop_last) {
  const auto length = static_cast<int64_t>(order.size());
  std::vector<int64_t> indices(distributed_count(length, world, drop_last));
  int64_t position = rank;
  for (int64_t& index : indices) {
    index = order[position % length];
    position += world;
  }
  return indices;
}

}  // namespace lockstep::plan
