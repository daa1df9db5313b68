// The messages of a library's collectives. Libraries do not show them, so the trace
// gets those that follow from the algorithm, marked `modelled`.
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
/// All that one rank receives in a collective, in order.
using ModelledMessages = std::vector<ModelledMessage>;

/// The direction: each rank sends to the next one (NCCL), or to the previous one
/// (Gloo).
enum class RingWay { next, previous };

/// 2(N−1) chunks of the tensor, cut as by plan::ring_chunks.
ModelledMessages modelled_all_reduce(int rank, int size, int64_t numel, RingWay way);
/// N−1 parts of `numel` elements each.
ModelledMessages modelled_all_gather(int rank, int size, int64_t numel, RingWay way);
/// A binomial tree: the root sends to rank 1 after it, these two to ranks 2 and 3,
/// these four to ranks 4 to 7, … N−1 messages over all ranks, none for the root.
ModelledMessages modelled_tree_broadcast(int rank, int size, int root, int64_t numel);
/// The first half of a ring all-reduce; then the root collects the finished chunks.
ModelledMessages modelled_gathering_reduce(int rank, int size, int root, int64_t numel,
                                           RingWay way);

/// Records the messages as `copy` events on the comm lane of `rank`, one after the
/// other and equally long, between two moments (ns). Does nothing when `call` is not
/// recorded.
void record_modelled(const ModelledMessages& messages, const char* group, int rank,
                     DType dtype, const Collective& call, int64_t began, int64_t ended);

}  // namespace lockstep::distributed
