// A parameter server that is a process: it handles the requests of its workers.
#pragma once

#include <functional>
#include <vector>

#include "engine/distributed/collectives/process_group.h"
#include "engine/sharing/parameter_server.h"
#include "engine/sharing/server_mail.h"

namespace lockstep::sharing {

/// Handles one request after the other, in the order in which workers sent them. A
/// worker that must wait gets its answer later. Must be used by one thread.
class ServerProcess {
 public:
  /// `server` has begun. The ranks of `links` are the workers and, after them, the
  /// servers.
  ServerProcess(ParameterServer& server, ServerMail mail,
                std::shared_ptr<distributed::ProcessGroup> links, int workers);

  /// Called before each request, with the step of its worker.
  std::function<void(int64_t step)> before = [](int64_t) {};
  /// Called when no worker makes more steps.
  std::function<void()> all_left = [] {};
  /// Returns the signal that this process has received; 0: none.
  std::function<int()> signal = [] { return 0; };
  /// How long workers may wait for a push of another one, which is alive.
  Milliseconds patience = std::chrono::hours(24 * 365);

  /// Serves until the workers have no more requests. Returns the signal that some
  /// worker or this server has received; 0: none. Throws std::runtime_error if one has
  /// failed.
  int run();

 private:
  class AsItsWorker;
  void handle(const Request& request);
  void take_push(const Request& request);
  void finish(const Request& request);
  void take_pull(const Request& request);
  void leave(const Request& request);
  void send_weights(const Request& request, Answer answer);
  void send_state(const Request& request);
  void serve_waiting();
  void end_meeting();
  void answer_ended();
  void require_progress() const;
  void answer(int64_t number, Answer answer);

  /// A pull that has to wait, and for whom.
  struct Waiting {
    Request request;
    std::vector<int> awaited;
  };

  ParameterServer& server_;
  ServerMail mail_;
  const std::shared_ptr<distributed::ProcessGroup> links_;
  const int workers_;
  std::vector<UpdateRule::Push> pushes_;  ///< by worker: the one that is not finished
  std::vector<int64_t> events_;           ///< by worker: of its last push
  std::vector<Waiting> waiting_;          ///< in the order of their requests
  TimePoint progress_ = Clock::now();     ///< of the last push or pull
  std::vector<int64_t> meeting_;          ///< requests to meet
  std::vector<int64_t> ended_;            ///< requests that wait for all to leave
  int active_, last_pusher_ = -1, signal_ = 0;
  bool any_stop_ = false, closed_ = false;
  bool records_ = false;  ///< where its workers do
};

}  // namespace lockstep::sharing
