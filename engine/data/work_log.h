// Records a loader's workers in the trace.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

namespace lockstep::data {

/// A batch made by a worker. Times are in nanoseconds of CLOCK_MONOTONIC.
struct Work {
  int worker = 0;
  int64_t batch = 0, samples = 0;
  int64_t begin_ns = 0, end_ns = 0;
  std::vector<int64_t> indices = {};  ///< of the samples in the data set
};

/// Workers run ahead of the training steps and may be busy when the recorder is
/// switched on or off. They therefore only log their work; the training loop records
/// it: each worker has a `loader worker N` lane on its rank's host, with one
/// `_MapDatasetFetcher.fetch` call per batch. The event belongs to the step in which it
/// is completed, which is rarely the step that trains on the batch (given by `batch`).
/// `indices` lists the samples that the sampler asked for; `samples` counts those that
/// could be loaded.
///
/// Two dependencies link a worker to the training loop, and re-timing a trace preserves
/// them: a batch is started after an earlier one was taken or the epoch began
/// (`after`), and cannot be taken before it is made (a `sync`).
class WorkLog {
 public:
  /// `depth`: the maximum number of prefetched batches. Must be constructed by the
  /// thread that takes them, when the epoch begins. `first`: the number of the batch
  /// that is taken first.
  explicit WorkLog(int64_t depth, int64_t first = 0);

  /// Thread-safe. Discards the work if the recorder is off.
  void add(const Work& work);

  /// Records the work added since the last call, except work begun before the recorder
  /// was first switched on. Within an open event, also records a `sync` for the calling
  /// thread, which requested batch `taken` at `asked_ns` and has now received it. The
  /// `sync` is short if the batch was ready.
  void record(int64_t taken, int64_t asked_ns);

 private:
  std::mutex mutex_;
  std::vector<Work> added_;

  // Used only by the thread that takes batches:
  const int64_t depth_, first_;
  const int64_t epoch_begun_after_;
  std::map<int64_t, int64_t> made_by_;   // batches not yet taken, each with its call
  std::map<int64_t, int64_t> taken_in_;  // batches taken, each with the event around it
};

}  // namespace lockstep::data
