// The ring all-reduce: who sends which piece to whom. Everybody talks to two neighbours
// only, and nobody sends more than twice the data, however many there are.
#pragma once

#include <cstdint>
#include <vector>

namespace lockstep::plan {

/// What one rank does in one step: it sends a chunk to its right neighbour and receives
/// another from its left one, both at once.
struct RingStep {
  int send_to, receive_from;
  int send_chunk, receive_chunk;
  bool reduces;  ///< what arrives is added to the rank's own chunk; else it replaces it

  bool operator==(const RingStep&) const = default;
};

/// `world` − 1 steps, after which rank r owns chunk r: the sum over all ranks. A chunk
/// sets out from the right of its owner and gathers a share at every stop.
/// REQUIRES here and below: 0 ≤ rank < world.
std::vector<RingStep> ring_reduce_scatter(int rank, int world);

/// `world` − 1 steps that start with rank r owning chunk r; after them all own all.
std::vector<RingStep> ring_all_gather(int rank, int world);

/// The one, then the other: 2 (`world` − 1) steps. Source of the numbering: NCCL's
/// `runRing` in src/device/all_reduce.h. (Others let rank r end with chunk r + 1.)
std::vector<RingStep> ring_all_reduce(int rank, int world);

/// A piece of a flat buffer, in elements.
struct ChunkRange {
  int64_t first, count;
};

/// Cuts `numel` elements into `world` consecutive chunks whose sizes differ by at most
/// one; some are empty when numel < world. The larger ones are spread evenly, since in
/// an all-reduce rank r never sends chunk r in the first half nor r + 1 in the second:
/// so each rank sends 2 (world − 1) / world · numel to within one element.
/// REQUIRES: numel ≥ 0, world ≥ 1.
std::vector<ChunkRange> ring_chunks(int64_t numel, int world);

}  // namespace lockstep::plan
