// The ring all-reduce: which chunk each rank sends to which other rank in each step.
// Each rank communicates with only two neighbours and sends at most twice the data,
// regardless of the number of ranks.
#pragma once

#include <cstdint>
#include <vector>

namespace lockstep::plan {

/// One rank's actions in one step: it sends a chunk to its right neighbour and,
/// concurrently, receives another from its left neighbour.
struct RingStep {
  int send_to, receive_from;
  int send_chunk, receive_chunk;
  bool reduces;  ///< adds the received chunk to its own; otherwise replaces it

  bool operator==(const RingStep&) const = default;
};

/// Returns `world` − 1 steps after which rank r owns chunk r, summed over all ranks. A
/// chunk starts at the right neighbour of its owner and accumulates at every rank.
/// REQUIRES (also below): 0 ≤ rank < world.
std::vector<RingStep> ring_reduce_scatter(int rank, int world);

/// Returns `world` − 1 steps before which rank r owns chunk r and after which every
/// rank owns all chunks.
std::vector<RingStep> ring_all_gather(int rank, int world);

/// Returns both in sequence: 2 (`world` − 1) steps. The numbering is that of NCCL's
/// `runRing` in src/device/all_reduce.h. (Elsewhere, rank r may end with chunk r + 1.)
std::vector<RingStep> ring_all_reduce(int rank, int world);

/// A range of a flat buffer, in elements.
struct ChunkRange {
  int64_t first, count;
};

/// Divides `numel` elements into `world` consecutive chunks whose sizes differ by at
/// most one; some are empty if numel < world. The larger ones are spread evenly: in an
/// all-reduce, rank r never sends chunk r in the first half or r + 1 in the second, so
/// each rank sends 2 (world − 1) / world · numel elements to within one element.
/// REQUIRES: numel ≥ 0, world ≥ 1.
std::vector<ChunkRange> ring_chunks(int64_t numel, int world);

}  // namespace lockstep::plan
