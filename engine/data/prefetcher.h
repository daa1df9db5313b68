// Workers that prefetch batches: bounded and in order.
//
// PyTorch's _MultiProcessingDataLoaderIter with threads instead of processes. Worker w
// makes batches w, w + workers, w + 2·workers, …; a batch is begun only when fewer than
// `depth` batches are in progress or waiting, so memory stays bounded; batches are
// returned in order, whatever order the workers finish in.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "engine/data/batch_queue.h"

namespace lockstep::data {

/// A batch was not available in time.
struct LoaderTimeout : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Prefetcher {
 public:
  /// Makes a batch; called by several workers concurrently.
  using Make = std::function<Batch(int64_t batch, int worker)>;

  /// Starts the workers, which begin at once. next() waits at most `timeout` seconds;
  /// 0: forever. REQUIRES: workers ≥ 1, depth ≥ 1.
  Prefetcher(Make make, int64_t batches, int workers, int64_t depth,
             double timeout = 0);

  /// Stops the workers after their current batches.
  ~Prefetcher();

  /// Returns the next batch in order, or rethrows the exception of `make` (the
  /// following batch comes next, as in PyTorch); nullopt after the last. Only one
  /// thread may call it. Throws LoaderTimeout if a worker hangs; the destructor would
  /// then wait for it.
  std::optional<Batch> next();

  /// Begins no further batch and does not wait for the workers: returns at once even if
  /// one hangs. They use this object until they end, so it must be kept alive.
  void abandon();

 private:
  void work(int worker);
  Made make(int64_t batch, int worker) const;
  Made take();

  const Make make_;
  const int64_t batches_;
  const int workers_;
  const double timeout_;

  std::unique_ptr<BatchQueue> queue_;
  int64_t taken_ = 0;  // batches returned

  std::vector<std::jthread>
      threads_;  // last member: joined before the others are destroyed
};

}  // namespace lockstep::data
