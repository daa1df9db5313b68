// Workers that run ahead: bounded, and in order.
//
// PyTorch's _MultiProcessingDataLoaderIter with threads for processes. Worker w makes
// batches w, w + workers, w + 2·workers, …; a batch is begun only when fewer than
// `depth` batches are under way or waiting, so memory stays bounded; batches are handed
// out in order, however the workers race.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "engine/data/batch.h"

namespace lockstep::data {

class Prefetcher {
 public:
  /// Makes a batch; called by several workers at a time.
  using Make = std::function<Batch(int64_t batch, int worker)>;

  /// Starts the workers, and they begin at once. REQUIRES: workers ≥ 1, depth ≥ 1.
  Prefetcher(Make make, int64_t batches, int workers, int64_t depth);

  /// Stops the workers: each finishes at most the batch in its hands.
  ~Prefetcher();

  /// The next batch in order, or what `make` threw in its place (the batch after it
  /// follows, as in PyTorch); nullopt after the last. One thread may call it.
  std::optional<Batch> next();

 private:
  struct Slot {
    std::optional<Batch> batch;
    std::exception_ptr error;
    bool full() const { return batch || error; }
  };

  void work(const std::stop_token& stop, int worker);
  Slot make(int64_t batch, int worker) const;

  const Make make_;
  const int64_t batches_;
  const int workers_;

  std::mutex mutex_;                  // guards the four below
  std::condition_variable_any room_;  // a slot became empty: workers wait for it
  std::condition_variable ready_;     // a slot became full: next() waits for it
  std::vector<Slot> slots_;           // a ring: batch b lives in slot b % depth
  int64_t taken_ = 0;                 // batches handed out

  std::vector<std::jthread> threads_;  // last: joined before the rest goes
};

}  // namespace lockstep::data
