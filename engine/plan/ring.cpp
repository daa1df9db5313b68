#include "engine/plan/ring.h"

namespace lockstep::plan {
namespace {

/// Returns one half of the all-reduce: sends `first_chunk`, then in every further step
/// the chunk received in the previous one, whose index is one lower (modulo `world`).
std::vector<RingStep> half(int rank, int world, int first_chunk, bool reduces) {
  const auto wrap = [world](int i) { return (i + 2 * world) % world; };
  std::vector<RingStep> steps;
  for (int step = 0; step < world - 1; ++step) {
    const int chunk = first_chunk - step;
    steps.push_back(
        {wrap(rank + 1), wrap(rank - 1), wrap(chunk), wrap(chunk - 1), reduces});
  }
  return steps;
}

}  // namespace

std::vector<RingStep> ring_reduce_scatter(int rank, int world) {
  return half(rank, world, rank - 1, true);
}

std::vector<RingStep> ring_all_gather(int rank, int world) {
  return half(rank, world, rank, false);
}

std::vector<RingStep> ring_all_reduce(int rank, int world) {
  std::vector<RingStep> steps = ring_reduce_scatter(rank, world);
  for (const RingStep& step : ring_all_gather(rank, world)) steps.push_back(step);
  return steps;
}

std::vector<ChunkRange> ring_chunks(int64_t numel, int world) {
  std::vector<ChunkRange> chunks;
  for (int64_t i = 0; i < world; ++i) {
    const int64_t first = numel * i / world;
    chunks.push_back({first, numel * (i + 1) / world - first});
  }
  return chunks;
}

}  // namespace lockstep::plan
