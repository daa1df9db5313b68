#include "engine/distributed/collectives/modelled_messages.h"

#include <algorithm>

#include "engine/distributed/collectives/collective_trace.h"
#include "engine/plan/ring.h"

namespace lockstep::distributed {
namespace {

/// Reverses the rank numbers if ranks send to the previous one.
int mirrored(int rank, int size, RingWay way) {
  return way == RingWay::next ? rank : (size - rank) % size;
}

ModelledMessages received(const std::vector<plan::RingStep>& steps,
                          const std::vector<plan::ChunkRange>& chunks, RingWay way) {
  const int size = static_cast<int>(chunks.size());
  ModelledMessages messages;
  for (const plan::RingStep& step : steps) {
    messages.push_back({mirrored(step.receive_from, size, way),
                        chunks[mirrored(step.receive_chunk, size, way)].count});
  }
  return messages;
}

}  // namespace

ModelledMessages modelled_all_reduce(int rank, int size, int64_t numel, RingWay way) {
  return received(plan::ring_all_reduce(mirrored(rank, size, way), size),
                  plan::ring_chunks(numel, size), way);
}

ModelledMessages modelled_all_gather(int rank, int size, int64_t numel, RingWay way) {
  return received(plan::ring_all_gather(mirrored(rank, size, way), size),
                  plan::ring_chunks(numel * size, size), way);
}

ModelledMessages modelled_tree_broadcast(int rank, int size, int root, int64_t numel) {
  const int after_root = (rank - root + size) % size;
  if (after_root == 0) return {};
  int half = 1;  // the number of ranks that had the data before this round
  while (2 * half <= after_root) half *= 2;
  return {{(after_root - half + root) % size, numel}};
}

ModelledMessages modelled_gathering_reduce(int rank, int size, int root, int64_t numel,
                                           RingWay way) {
  const auto chunks = plan::ring_chunks(numel, size);
  const auto steps = plan::ring_reduce_scatter(mirrored(rank, size, way), size);
  ModelledMessages messages = received(steps, chunks, way);
  for (int other = 0; rank == root && other < size; ++other) {
    if (other != root) messages.push_back({other, chunks[other].count});
  }
  return messages;
}

void record_modelled(const ModelledMessages& messages, const char* group, int rank,
                     DType dtype, const Collective& call, int64_t began,
                     int64_t ended) {
  if (!call.recorded() || messages.empty()) return;
  // Hardware clock times are clamped: no message begins before its dependencies end.
  began = std::max(began, lockstep::distributed::ended(call.waits));
  ended = std::max(began + static_cast<int64_t>(messages.size()), ended);
  extend_span(call, began, ended);
  const auto count = static_cast<int64_t>(messages.size());
  for (int64_t i = 0; i < count; ++i) {
    const ModelledMessage& message = messages[i];
    const Buffer data{nullptr, message.numel, dtype};
    Exchanged times;
    times.in_began = began + (ended - began) * i / count;
    times.in_ended = began + (ended - began) * (i + 1) / count;
    if (i == 0) times.after = call.deps;
    record_copy({group, rank, message.from, static_cast<int>(i), data, true}, call,
                times, 0);
  }
}

}  // namespace lockstep::distributed
