// DataLoader: batches of a data set, epoch after epoch. torch.utils.data.DataLoader.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/data/batch.h"
#include "engine/data/dataset.h"
#include "engine/data/prefetcher.h"
#include "engine/data/sampler.h"
#include "engine/data/work_log.h"

namespace lockstep::data {

struct LoaderOptions {
  int64_t batch_size = 1;
  int workers = 0;          ///< threads; 0 = batches are made inside next()
  int prefetch_factor = 2;  ///< batches made ahead per worker
  double timeout = 0;       ///< seconds that next() waits for a worker; 0: for ever
  bool shuffle = false;
  bool drop_last = false;  ///< leave out the last batch if it is short
  uint64_t seed = 0;       ///< of the shuffle and the augmentation

  /// Another order, such as one rank's share; not together with `shuffle`.
  std::shared_ptr<const Sampler> sampler;

  /// Makes a BadSample no error: the batch is made without it, and this is called with
  /// the reason when the batch is handed out, on the thread that takes it. A batch of
  /// bad samples only is an error all the same.
  std::function<void(const std::string& why)> on_bad_sample;

  /// Called when a batch is made, on the thread that made it: worker (kCallingThread
  /// if there are none), the batch's number in its epoch, begin and end in nanoseconds
  /// of CLOCK_MONOTONIC. Must be thread-safe.
  std::function<void(int worker, int64_t batch, int64_t begin_ns, int64_t end_ns)>
      on_batch;
};

/// The worker number of batches that are made inside next().
inline constexpr int kCallingThread = -1;

/// Makes the batches of one epoch. Workers hold on to it: one that hangs may come back
/// when the loader is long gone.
class BatchMaker {
 public:
  BatchMaker(std::shared_ptr<const Dataset> dataset, LoaderOptions options,
             int64_t epoch);

  int64_t batches() const { return static_cast<int64_t>(batches_.size()); }
  Batch make(int64_t batch, int worker) const;
  WorkLog& log() { return log_; }

  /// So many batches are begun before they are asked for.
  int64_t depth() const { return int64_t{options_.workers} * options_.prefetch_factor; }

  /// The sample that this worker is at work on, by the name that the set gives it;
  /// empty if there is none.
  std::string at_work_on(int worker) const;

 private:
  void add(int64_t batch, int worker, int64_t index, Batch& made) const;
  int64_t get(int64_t batch, int worker, int64_t index, std::span<float> image) const;

  std::shared_ptr<const Dataset> dataset_;
  LoaderOptions options_;
  int64_t epoch_;
  std::vector<std::vector<int64_t>> batches_;          // the epoch's indices
  mutable WorkLog log_;                                // what the workers did
  mutable std::vector<std::atomic<int64_t>> current_;  // by worker: its sample, or -1
};

/// Batches depend on (data set, options, epoch) only, not on the number of workers.
/// One thread may use a loader at a time. It may be destroyed at any moment.
class DataLoader {
 public:
  /// Throws std::runtime_error for options that make no sense together.
  DataLoader(std::shared_ptr<const Dataset> dataset, LoaderOptions options);

  /// Batches in an epoch: Python's len(loader).
  int64_t size() const;

  /// Begins an epoch from its first batch (what is left of another is dropped); the
  /// workers start to run ahead.
  void start_epoch(int64_t epoch);

  /// The next batch; nullopt at the end of the epoch. Rethrows what the data set threw
  /// for this batch, at this batch's turn; with workers as a std::runtime_error
  /// "Caught … in DataLoader worker 1 (batch 5, sample 17): …" that nests the original.
  /// The call after it goes on with the following batch. Throws LoaderTimeout, naming
  /// the sample, if a worker does not hand its batch in within options.timeout; the
  /// workers are left behind then, and the next start_epoch() starts others.
  std::optional<Batch> next();

  const Dataset& dataset() const { return *dataset_; }

 private:
  std::optional<Batch> take();
  Batch wait_for(int64_t batch);

  std::shared_ptr<const Dataset> dataset_;
  LoaderOptions options_;

  std::shared_ptr<BatchMaker> maker_;       // of the epoch; none yet
  int64_t taken_ = 0;                       // batches of the epoch
  std::unique_ptr<Prefetcher> prefetcher_;  // none without workers
};

}  // namespace lockstep::data
