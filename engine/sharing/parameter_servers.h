// The parameter servers of a run, as its workers see them.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>

#include "engine/sharing/parameter_server.h"

namespace lockstep::sharing {

/// All servers, and the place where their workers wait. Thread-safe: each worker is a
/// thread. A worker that waits throws std::runtime_error after `abort`.
class ParameterServers {
 public:
  ParameterServers(const std::vector<Device>& devices, int workers,
                   const PsOptions& options);

  /// Gives the servers the weights `flat` of all parameters, and the state of their
  /// optimizer. Only the first call counts: all workers begin with the same. Throws
  /// std::runtime_error if there are more servers than keys.
  void begin(const Parameters& parameters, const Tensor& flat,
             const optim::AnyOptions& optimizer, const Parameters& state);
  bool has_begun() const;

  /// Sends each server its part of the gradients `flat`. Returns when they have arrived
  /// and the updates that they caused are made; `flat` may then be changed.
  void push(int worker, const Tensor& flat, double lr);
  /// Waits until the worker may go on, then has the weights sent to `flat`.
  void pull(int worker, const Tensor& flat);

  /// Waits until all workers have called it. Returns whether one of them passed `stop`
  /// or has left.
  bool meet(bool stop);
  /// The worker makes no more steps, and nobody waits for it.
  void leave(int worker);
  /// The worker waits for others outside the servers, such as where recording begins:
  /// meanwhile nobody waits for it. With backup workers, an update that the others wait
  /// for may then be the mean of fewer gradients.
  void pause(int worker);
  void resume(int worker);
  /// Ends all waiting: a worker has failed.
  void abort(const std::string& why);

  /// Returns the optimizer's state, as from Optimizer::state(), in host memory.
  Parameters state() const;
  size_t size() const { return servers_.size(); }
  const PsOptions& options() const { return options_; }

 private:
  using Lock = std::unique_lock<std::mutex>;
  void wait_until_it_may_pull(int worker, ParameterServer& server, Lock& lock);
  void throw_if_aborted() const;
  void release_meeting();
  Tensor part(const Tensor& flat, const ParameterServer& server) const;

  const PsOptions options_;
  mutable std::mutex mutex_;  ///< guards everything below
  std::condition_variable changed_;
  std::vector<ParameterServer> servers_;
  std::vector<int64_t> pushes_;  ///< by worker: event of its last finished push
  std::optional<std::string> aborted_;
  bool begun_ = false;
  int active_;       ///< workers that have not left
  int present_ = 0;  ///< at the meeting
  int64_t meetings_ = 0;
  bool stop_ = false, any_stop_ = false;  ///< the last meeting's, the next one's
};

}  // namespace lockstep::sharing
