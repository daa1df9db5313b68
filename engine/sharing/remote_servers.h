// Parameter servers that are processes, as a worker that is a process sees them.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "engine/distributed/collectives/process_group.h"
#include "engine/plan/key_ranges.h"
#include "engine/sharing/server_mail.h"
#include "engine/sharing/servers.h"

namespace lockstep::sharing {

/// Asks each server by mail; gradients and weights are messages of `links`, whose ranks
/// are the workers and, after them, the servers. Every process has the same model and
/// the same checkpoint, from which the servers begin. Must be used by the worker's
/// thread only, except where it says otherwise.
class RemoteServers : public Servers {
 public:
  RemoteServers(std::shared_ptr<distributed::Store> store,
                std::shared_ptr<distributed::ProcessGroup> links, int servers,
                const PsOptions& options, const RequireAll& require_all);

  void begin(const Parameters& parameters, const Tensor& flat,
             const optim::AnyOptions& optimizer, const Parameters& state) override;
  bool has_begun() const override { return !ranges_.empty(); }
  void push(int worker, const Tensor& flat, double lr) override;
  void pull(int worker, const Tensor& flat) override;
  bool meet(bool stop) override;
  void leave(int worker) override { tell_all(Request::What::leave, worker); }
  void pause(int worker) override { tell_all(Request::What::pause, worker); }
  void resume(int worker) override { tell_all(Request::What::resume, worker); }
  Parameters state() const override;
  size_t size() const override { return mail_.size(); }
  std::vector<int64_t> peaks() const override { return peaks_; }
  const PsOptions& options() const override { return options_; }

  /// Tells the others of a signal that this worker has received, with its next request;
  /// 0: none. Returns one that was received by another worker or by a server.
  int told_to_stop(int mine);
  /// Waits until no worker makes more steps.
  void wait_until_all_left();
  /// Ends the servers. To be called by one worker, after the others have left.
  void close() { tell_all(Request::What::close, links_->rank()); }

 private:
  int rank_of(size_t server) const;
  Request request(Request::What what) const;
  void tell_all(Request::What what, int worker);
  Answer read_answer(size_t server, int64_t number) const;
  Tensor part(const Tensor& flat, size_t server) const;
  void note_wait(size_t server, const Answer& answer, int64_t since) const;
  void take_state(size_t server, std::map<std::string, Tensor>& whole) const;

  const std::shared_ptr<distributed::ProcessGroup> links_;
  const PsOptions options_;
  std::vector<ServerMail> mail_;        ///< by server
  std::vector<int64_t> read_;           ///< by server: the version pulled last
  std::vector<plan::KeyRange> ranges_;  ///< by server; empty before `begin`
  Parameters parameters_;
  Device device_ = kHost;
  std::vector<int64_t> peaks_;  ///< by server, after all have left
  int own_signal_ = 0;
  mutable int known_signal_ = 0;
};

}  // namespace lockstep::sharing
