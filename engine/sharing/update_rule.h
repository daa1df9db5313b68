// What a parameter server decides: which gradients make an update, and who must wait.
#pragma once

#include "engine/sharing/server_access.h"

namespace lockstep::sharing {

/// The bookkeeping of one server: its version, and each worker's clock. It knows no
/// tensors and never waits. Versions count updates. What it decides itself is when an
/// update is over, and what is due when workers leave; the rest is in two slots
/// (server_access.h). Names as in ps-lite and in Ho et al. 2013, "More effective
/// distributed ML via a stale synchronous parallel parameter server".
class UpdateRule : private ServerAccess {
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
    double scale = 1;     ///< of the sum of their gradients
    int64_t version = 0;  ///< of the server, afterwards
  };
  /// Throws std::logic_error if a function in a slot uses a gradient that is not there.
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
  bool is_due() const { return !waiting_.empty() && waiting_.size() >= needed(); }
  Push make_due();

  int64_t version() const override { return version_; }
  int64_t clock(int worker) const override { return workers_[worker].clock; }

 private:
  struct Worker {
    int64_t read = 0;  ///< the version that it pulled last
    int64_t clock = 0;
    bool pushed = false;  ///< since then
    bool left = false;
  };
  int64_t read_version(int worker) const override { return workers_[worker].read; }
  std::vector<int> workers() const override;
  const std::set<int>& arrived() const override { return waiting_; }
  size_t needed() const override;
  void update(std::set<int> workers, double scale) override;
  void discard(int worker) override;

  bool is_sync() const { return options_.consistency == Consistency::sync; }
  bool awaits_an_update(int worker) const;

  const PsOptions options_;
  std::vector<Worker> workers_;
  std::set<int> waiting_;  ///< whose gradients have arrived and are in no update yet
  Push push_;              ///< the current one
  int64_t version_ = 0;
  int64_t finished_version_ = 0;  ///< sync: the newest that may be waited for
};

}  // namespace lockstep::sharing
