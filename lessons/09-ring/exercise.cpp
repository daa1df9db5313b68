// Lesson 09: the ring. Every rank ends with the sum of all ranks' tensors, and
// communicates only with its two neighbours.
#include "engine/distributed/collectives/ring.h"
#include "lessons/plugin.h"

using namespace lockstep;
using distributed::Buffer;
using distributed::RingLink;

/// Chunk `i` of `data` when it is divided into `world` consecutive pieces that cover it
/// completely and whose sizes differ by at most one element: 10 elements for 4 ranks
/// are divided into two pieces of 3 and two of 2. With fewer elements than ranks some
/// are empty. `data.part(first, count)` is a piece of a buffer; nothing is copied.
Buffer chunk(Buffer data, int64_t i, int64_t world) {
  // [solution-chunk]
  const int64_t first = data.numel * i / world;
  const int64_t end = data.numel * (i + 1) / world;
  return data.part(first, end - first);
  // [/solution-chunk]
  lessons::not_written("chunk: where does piece i begin, and how long is it?");
}

/// The first half: in world − 1 steps each chunk travels from rank to rank, and each
/// rank adds its share. Afterwards this rank's chunk number rank() holds the sum over
/// all ranks; the contents of its other chunks no longer matter.
///
/// `link.exchange(out, in, true)` sends `out` to rank() + 1 and, at the same time,
/// receives a message of `in`'s length from rank() − 1, which is added to `in`. Both
/// are pieces of `data`; `link.size()` is the world size. Do not access
/// `data.data`: on devices that compute nothing it is null.
void reduce_scatter(RingLink& link, Buffer data) {
  // [solution-reduce-scatter]
  const int rank = link.rank(), world = link.size();
  for (int step = 0; step < world - 1; ++step) {
    const int sent = (rank - 1 - step + 2 * world) % world;
    const int received = (sent - 1 + world) % world;
    link.exchange(chunk(data, sent, world), chunk(data, received, world), true);
  }
  return;
  // [/solution-reduce-scatter]
  lessons::not_written("reduce_scatter: which chunk leaves first, and which one next?");
}

/// The second half: each rank begins with one finished chunk, its own, and world − 1
/// steps later all ranks have all of them. `exchange(out, in, false)` overwrites `in`
/// with what arrives.
void all_gather(RingLink& link, Buffer data) {
  // [solution-all-gather]
  const int rank = link.rank(), world = link.size();
  for (int step = 0; step < world - 1; ++step) {
    const int sent = (rank - step + world) % world;
    const int received = (sent - 1 + world) % world;
    link.exchange(chunk(data, sent, world), chunk(data, received, world), false);
  }
  return;
  // [/solution-all-gather]
  lessons::not_written(
      "all_gather: send the finished chunks once more around the ring");
}

/// Afterwards all ranks hold the sum of their `data`.
void ring_all_reduce(RingLink& link, Buffer data) {
  reduce_scatter(link, data);
  all_gather(link, data);
}

/// The check finds your function through this; do not change it.
extern "C" void lesson_reduce_scatter(RingLink& link, Buffer data) {
  reduce_scatter(link, data);
}

LOCKSTEP_LESSON(9) { distributed::ring_all_reduce().plug(ring_all_reduce); }
