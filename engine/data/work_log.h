// What a loader's workers did, for the trace.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

namespace lockstep::data {

/// A batch that a worker made. Times in nanoseconds of CLOCK_MONOTONIC.
struct Work {
  int worker = 0;
  int64_t batch = 0, samples = 0;
  int64_t begin_ns = 0, end_ns = 0;
};

/// Workers run ahead of the training steps, and are at work when the recorder is
/// switched on and off. So they only note what they did, and the training loop records
/// it: each worker has a lane `loader worker N` on its rank's host, with a call
/// `_MapDatasetFetcher.fetch` per batch. The event belongs to the step that finds it
/// done, which is seldom the step that trains on this batch (`batch` says which).
///
/// Two things tie a worker to the training loop, and a trace on another clock keeps
/// them: a batch is begun when an earlier one has been taken or the epoch was begun
/// (`after`), and cannot be taken before it is made (a `sync`).
class WorkLog {
 public:
  /// `depth`: how many batches are made ahead. Made by the thread that takes them, when
  /// the epoch begins.
  explicit WorkLog(int64_t depth);

  /// Thread-safe. Forgets the work at once if the recorder is off.
  void add(const Work& work);

  /// Records what has been added since the last call, except what had begun before the
  /// recorder was first on. Inside an open event the calling thread asked for batch
  /// `taken` at `asked_ns` and has it now: also a `sync`, short if it was ready.
  void record(int64_t taken, int64_t asked_ns);

 private:
  std::mutex mutex_;
  std::vector<Work> added_;

  // Of the thread that takes:
  const int64_t depth_;
  const int64_t epoch_begun_after_;
  std::map<int64_t, int64_t> made_by_;   // batches not yet taken, each with its call
  std::map<int64_t, int64_t> taken_in_;  // batches taken, each with the event around it
};

}  // namespace lockstep::data
