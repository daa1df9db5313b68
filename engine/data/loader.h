// DataLoader: iterates over a data set in batches, like torch.utils.data.DataLoader.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/data/dataset.h"
#include "engine/data/pixels.h"
#include "engine/data/prefetcher.h"
#include "engine/data/sampler.h"
#include "engine/data/work_log.h"

namespace lockstep::data {

struct LoaderOptions {
  int64_t batch_size = 1;
  int workers = 0;          ///< threads; 0: next() makes the batches
  int prefetch_factor = 2;  ///< batches prefetched per worker
  double timeout = 0;       ///< seconds that next() waits for a worker; 0: forever
  bool shuffle = false;
  bool drop_last = false;  ///< omit the last batch if it is short
  uint64_t seed = 0;       ///< for shuffling and augmentation

  /// Whether batches have the bytes of images, to be normalised later.
  bool as_bytes = false;

  /// Where the images of batches are made, such as page-locked memory (`pin_memory` in
  /// PyTorch). Must be thread-safe and outlive all batches.
  std::pmr::memory_resource* memory = std::pmr::new_delete_resource();

  /// A custom order, such as one rank's share; cannot be combined with `shuffle`.
  std::shared_ptr<const Sampler> sampler;

  /// If set, a BadSample is not an error: the batch omits the sample, and this function
  /// is called with the reason when the batch is taken, on the thread that takes it. A
  /// batch without any valid sample is empty: its size() is 0.
  std::function<void(const std::string& why)> on_bad_sample;

  /// Called after a batch is made, on the thread that made it, with the worker (or
  /// kCallingThread), the number of the batch in its epoch, and its begin and end times
  /// in nanoseconds of CLOCK_MONOTONIC. Must be thread-safe.
  std::function<void(int worker, int64_t batch, int64_t begin_ns, int64_t end_ns)>
      on_batch;
};

/// The worker number for batches made in next().
inline constexpr int kCallingThread = -1;

/// Makes the batches of one epoch. Workers share ownership: one that hangs may return
/// after the loader is destroyed.
class BatchMaker {
 public:
  /// `first`: the number of the batch that is taken first.
  BatchMaker(std::shared_ptr<const Dataset> dataset, LoaderOptions options,
             int64_t epoch, int64_t first);

  int64_t batches() const { return static_cast<int64_t>(batches_.size()); }
  Batch make(int64_t batch, int worker) const;
  /// Returns the samples of a batch, as the sampler asked for them.
  const std::vector<int64_t>& indices(int64_t batch) const { return batches_[batch]; }
  WorkLog& log() { return log_; }

  /// Maximum number of prefetched batches.
  int64_t depth() const { return int64_t{options_.workers} * options_.prefetch_factor; }

  /// Returns the name of the sample that this worker is loading; empty if there is
  /// none.
  std::string at_work_on(int worker) const;

 private:
  void add(int64_t batch, int worker, int64_t index, Batch& made) const;
  int64_t get(int64_t batch, int worker, int64_t index, Batch& made) const;
  int64_t read(int64_t index, Batch& made) const;

  std::shared_ptr<const Dataset> dataset_;
  const ImageDataset* images_;  // `dataset_` if options_.as_bytes, otherwise null
  LoaderOptions options_;
  int64_t epoch_;
  std::vector<std::vector<int64_t>> batches_;  // sample indices of each batch
  mutable WorkLog log_;                        // the workers' activity, for the trace
  mutable std::vector<std::atomic<int64_t>> current_;  // sample of each worker, or -1
};

/// Batches depend on the data set, options and epoch, but not on the number of workers.
/// Only one thread may use a loader at a time. It may be destroyed at any time.
class DataLoader {
 public:
  /// Throws std::runtime_error for inconsistent options, and for `as_bytes` of a data
  /// set that has none.
  DataLoader(std::shared_ptr<const Dataset> dataset, LoaderOptions options);

  /// Returns the number of batches per epoch: Python's len(loader).
  int64_t size() const;

  /// Starts an epoch, discarding any unfinished one; the workers start prefetching.
  /// Batches before `first` are left out; the others are what they are without it.
  /// REQUIRES: 0 ≤ first ≤ size().
  void start_epoch(int64_t epoch, int64_t first = 0);

  /// Returns the next batch; nullopt at the end of the epoch. Rethrows the data set's
  /// exception for this batch, in order; with workers, as a std::runtime_error "Caught
  /// … in DataLoader worker 1 (batch 5, sample 17): …" that nests the original. The
  /// next call continues with the following batch. Throws LoaderTimeout, naming the
  /// sample, if a worker does not deliver its batch within options.timeout; the workers
  /// are then abandoned, and the next start_epoch() starts new ones.
  std::optional<Batch> next();

  const Dataset& dataset() const { return *dataset_; }

 private:
  std::optional<Batch> take();
  Batch wait_for(int64_t batch);

  std::shared_ptr<const Dataset> dataset_;
  LoaderOptions options_;

  std::shared_ptr<BatchMaker> maker_;       // null before the first epoch
  int64_t first_ = 0;                       // number of the epoch's first batch taken
  int64_t taken_ = 0;                       // number of the batch to be taken next
  std::unique_ptr<Prefetcher> prefetcher_;  // null without workers
};

}  // namespace lockstep::data
