// The messages of collectives that a library performs. Libraries do not expose them, so
// the trace contains the messages implied by the algorithm, marked `modelled`.
#pragma once

#include <vector>

#include "engine/distributed/collectives/communicator.h"

namespace lockstep::distributed {

/// A message that a rank receives.
struct ModelledMessage {
  int from = 0;
  int64_t numel = 0;
  bool operator==(const ModelledMessage&) const = default;
};
/// All messages that one rank receives in a collective, in order.
using ModelledMessages = std::vector<ModelledMessage>;

/// The direction of a ring: each rank sends to the next one (NCCL) or to the previous
/// one (Gloo).
enum class RingWay { next, previous };

/// Returns 2(N−1) messages, one chunk each; the chunks are those of plan::ring_chunks.
ModelledMessages modelled_all_reduce(int rank, int size, int64_t numel, RingWay way);
/// Returns N−1 messages of `numel` elements each.
ModelledMessages modelled_all_gather(int rank, int size, int64_t numel, RingWay way);
/// Returns the messages of a binomial tree: the root sends to the next rank, these two
/// to the next two, these four to the next four, …; N−1 messages, none to the root.
ModelledMessages modelled_tree_broadcast(int rank, int size, int root, int64_t numel);
/// Returns the messages of a reduce-scatter followed by a gather to the root.
ModelledMessages modelled_gathering_reduce(int rank, int size, int root, int64_t numel,
                                           RingWay way);

/// Records the messages as consecutive `copy` events of equal duration on the comm lane
/// of `rank`, between the times `began` and `ended` (ns). Does nothing if `call` is not
/// recorded.
void record_modelled(const ModelledMessages& messages, const char* group, int rank,
                     DType dtype, const Collective& call, int64_t began, int64_t ended);

}  // namespace lockstep::distributed
