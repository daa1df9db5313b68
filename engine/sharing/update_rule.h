// What a parameter server decides: which gradients make an update, and who must wait.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

namespace lockstep::sharing {

/// When a worker may go on with its next step.
enum class Consistency {
  sync,   ///< an update is the mean of all workers' gradients, and all wait for it
  async,  ///< each gradient is an update of its own, and nobody waits
  ssp,    ///< as async, but no worker may be more than `staleness` steps ahead
};

struct PsOptions {
  Consistency consistency = Consistency::sync;
  int64_t staleness = 0;  ///< ssp
  int backup = 0;  ///< sync: number of gradients that an update does not wait for
};

/// The bookkeeping of one server: its version, and each worker's clock. It knows no
/// tensors and never waits. Versions count updates. Names as in ps-lite and in Ho et
/// al. 2013, "More effective distributed ML via a stale synchronous parallel parameter
/// server".
class UpdateRule {
 public:
  UpdateRule(int workers, const PsOptions& options);

  /// Returns whether the worker may read the weights now.
  bool may_pull(int worker) const;
  /// Returns the workers that it must wait for: those that are too far behind.
  std::vector<int> awaited_by(int worker) const;
  /// The worker reads the weights. Returns their version.
  int64_t pull(int worker);

  /// What becomes of a gradient that has arrived.
  struct Push {
    int64_t read_version = 0;  ///< of the weights that it was computed for
    bool discarded = false;    ///< sync: the update was made without it
    std::vector<int>
        applied;          ///< workers whose gradients make an update now, ascending
    int64_t version = 0;  ///< of the server, afterwards
  };
  Push push(int worker);
  /// The worker's push has been carried out, and its update, if it made one.
  void finish(int worker, const Push& push);
  /// An update has been made: those who wait for it may go on.
  void publish(const Push& push);

  /// The worker makes no more steps, and nobody waits for it. An update that was
  /// waiting only for this worker is then due: a worker that waits for it calls
  /// `make_due`.
  void leave(int worker) { workers_[worker].left = true; }
  /// The worker, which has left for a while, makes steps again.
  void come_back(int worker) { workers_[worker].left = false; }
  bool is_due() const { return !waiting_.empty() && waiting_.size() >= required(); }
  Push make_due();

  int64_t version() const { return version_; }
  /// Returns the number of pushes that the worker has finished.
  int64_t clock(int worker) const { return workers_[worker].clock; }

 private:
  struct Worker {
    int64_t read = 0;  ///< the version that it pulled last
    int64_t clock = 0;
    bool pushed = false;  ///< since then
    bool left = false;
  };
  bool is_sync() const { return options_.consistency == Consistency::sync; }
  int64_t slowest() const;
  size_t required() const;

  const PsOptions options_;
  std::vector<Worker> workers_;
  std::set<int> waiting_;  ///< sync: whose gradients are in the next update
  int64_t version_ = 0;
  int64_t finished_version_ = 0;  ///< sync: the newest that may be waited for
};

}  // namespace lockstep::sharing
