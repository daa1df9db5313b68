// The queue between a DataLoader's workers and the training loop: bounded and in order.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>

#include "engine/data/dataset.h"
#include "engine/runtime/slot.h"

namespace lockstep::data {

/// A worker's result: a batch or an exception.
struct Made {
  std::optional<Batch> batch;
  std::exception_ptr error;
};

/// Batches are numbered from 0; workers make them in any order, and they are taken in
/// ascending order. At most `depth` batches are reserved but not yet taken, so memory
/// use is bounded. Any thread may call reserve() and put(); only one may call take().
class BatchQueue {
 public:
  virtual ~BatchQueue() = default;

  /// Blocks until there is room for batch `number` (number < taken + depth). Returns
  /// false if the queue was closed; the worker must then exit.
  virtual bool reserve(int64_t number) = 0;

  /// Stores batch `number`, which must have been reserved.
  virtual void put(int64_t number, Made made) = 0;

  /// Blocks until the next batch in order is available. Must not be called on a closed
  /// queue.
  virtual Made take() = 0;

  /// Like take(), but returns nullopt if the batch is not available within `seconds`.
  /// The default implementation waits indefinitely, like take().
  virtual std::optional<Made> take_within(double seconds);

  /// Wakes all threads that are waiting for room; reserve() returns false from then on.
  /// No batch may be taken afterwards.
  virtual void close() = 0;
};

/// The function that creates a prefetcher's queue, in a slot (runtime/slot.h).
using MakeBatchQueue = std::unique_ptr<BatchQueue>(int64_t depth);
runtime::Slot<MakeBatchQueue>& batch_queue();

}  // namespace lockstep::data
