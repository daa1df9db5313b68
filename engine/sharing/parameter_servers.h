// Parameter servers in the process of their workers.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>

#include "engine/sharing/parameter_server.h"

namespace lockstep::sharing {

/// All servers, and the place where their workers wait. Thread-safe: each worker is a
/// thread. A worker that waits throws std::runtime_error after `abort`.
class ParameterServers : public Servers {
 public:
  ParameterServers(const std::vector<Device>& devices, int workers,
                   const PsOptions& options);

  void begin(const Parameters& parameters, const Tensor& flat,
             const optim::AnyOptions& optimizer, const Parameters& state) override;
  bool has_begun() const override;
  void push(int worker, const Tensor& flat, double lr) override;
  void pull(int worker, const Tensor& flat) override;
  bool meet(bool stop) override;
  void leave(int worker) override;
  void pause(int worker) override;
  void resume(int worker) override;
  Parameters state() const override;
  size_t size() const override { return servers_.size(); }
  const PsOptions& options() const override { return options_; }

  /// Ends all waiting: a worker has failed.
  void abort(const std::string& why);

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
