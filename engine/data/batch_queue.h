// The queue between a DataLoader's workers and the training loop: bounded, in order.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>

#include "engine/data/batch.h"
#include "engine/runtime/slot.h"

namespace lockstep::data {

/// What a worker made: a batch, or what went wrong in its place.
struct Made {
  std::optional<Batch> batch;
  std::exception_ptr error;
};

/// Batches have numbers, from 0; workers make them in any order, and they are taken in
/// ascending order. At any moment at most `depth` batches have been reserved and not
/// yet taken, so memory stays bounded. Several threads reserve and put, one takes.
class BatchQueue {
 public:
  virtual ~BatchQueue() = default;

  /// Blocks until there is room for batch `number` (number < taken + depth); false if
  /// the queue was closed: then the worker ends.
  virtual bool reserve(int64_t number) = 0;

  /// Hands in batch `number`, which was reserved.
  virtual void put(int64_t number, Made made) = 0;

  /// Blocks until the next batch in order is there. Not called on a closed queue.
  virtual Made take() = 0;

  /// The same, but nullopt if the batch is not there after `seconds`. A queue that does
  /// not say how waits as take() does.
  virtual std::optional<Made> take_within(double seconds);

  /// Wakes everybody who waits for room, now and later. The queue is of no more use.
  virtual void close() = 0;
};

/// Makes the queue of a prefetcher. A slot (runtime/slot.h).
using MakeBatchQueue = std::unique_ptr<BatchQueue>(int64_t depth);
runtime::Slot<MakeBatchQueue>& batch_queue();

}  // namespace lockstep::data
