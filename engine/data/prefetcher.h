// Workers that run ahead: bounded, and in order.
//
// PyTorch's _MultiProcessingDataLoaderIter with threads for processes. Worker w makes
// batches w, w + workers, w + 2·workers, …; a batch is begun only when fewer than
// `depth` batches are under way or waiting, so memory stays bounded; batches are handed
// out in order, however the workers race.
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

/// A batch did not come in time.
struct LoaderTimeout : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Prefetcher {
 public:
  /// Makes a batch; called by several workers at a time.
  using Make = std::function<Batch(int64_t batch, int worker)>;

  /// Starts the workers, and they begin at once. REQUIRES: workers ≥ 1, depth ≥ 1.
  /// next() waits `timeout` seconds at most; 0: for ever.
  Prefetcher(Make make, int64_t batches, int workers, int64_t depth,
             double timeout = 0);

  /// Stops the workers: each finishes at most the batch in its hands.
  ~Prefetcher();

  /// The next batch in order, or what `make` threw in its place (the batch after it
  /// follows, as in PyTorch); nullopt after the last. One thread may call it. Throws
  /// LoaderTimeout: then a worker hangs, and the destructor would wait for it.
  std::optional<Batch> next();

  /// No batch is begun any more, and nobody waits for the workers: returns at once,
  /// also where one hangs. They use this object until they end, so it must stay.
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
  int64_t taken_ = 0;  // batches handed out

  std::vector<std::jthread> threads_;  // last: joined before the rest goes
};

}  // namespace lockstep::data
