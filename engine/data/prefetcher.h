// Workers that prefetch batches: bounded and in order.
//
// PyTorch's _MultiProcessingDataLoaderIter with threads instead of processes. Worker w
// makes batches w, w + workers, w + 2·workers, …. A batch is started only if fewer than
// `depth` batches are in progress or waiting, so memory use is bounded. Batches are
// returned in order, regardless of the order in which workers finish.
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

/// Thrown if a batch is not available in time.
struct LoaderTimeout : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Prefetcher {
 public:
  /// Makes a batch; called by several workers concurrently.
  using Make = std::function<Batch(int64_t batch, int worker)>;

  /// Starts the workers, which begin immediately, to make `batches` batches numbered
  /// from `first`. next() waits at most `timeout` seconds, or forever if it is 0.
  /// REQUIRES: workers ≥ 1, depth ≥ 1.
  Prefetcher(Make make, int64_t batches, int workers, int64_t depth, double timeout = 0,
             int64_t first = 0);

  /// Stops the workers after their current batches and waits for them.
  ~Prefetcher();

  /// Returns the next batch in order, or nullopt after the last. Rethrows an exception
  /// thrown by `make`; the next call then returns the following batch, as in PyTorch.
  /// Must be called by one thread only. Throws LoaderTimeout if a worker hangs; the
  /// destructor would then wait for it.
  std::optional<Batch> next();

  /// Stops starting batches and does not wait for the workers: returns immediately even
  /// if one hangs. They use this object until they exit, so it must be kept alive.
  void abandon();

 private:
  void work(int worker);
  Made make(int64_t batch, int worker) const;
  Made take();

  const Make make_;
  const int64_t batches_;
  const int workers_;
  const double timeout_;
  const int64_t first_;

  std::unique_ptr<BatchQueue> queue_;
  int64_t taken_ = 0;  // batches returned

  std::vector<std::jthread>
      threads_;  // last member: joined before the others are destroyed
};

}  // namespace lockstep::data
