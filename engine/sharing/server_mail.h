// Requests of workers to parameter servers that are processes, and the answers.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/distributed/rendezvous/store.h"
#include "tracer/format/keys.h"

namespace lockstep::sharing {

/// What a worker asks of a server. Gradients and weights are no part of it: they are
/// messages between the two, with `number`, which no other message has.
struct Request {
  enum class What {
    push,    ///< gradients follow
    finish,  ///< the worker has seen the answer to its push
    pull,    ///< weights follow the answer
    meet,    ///< answered when all workers have met, or left
    leave,
    pause,
    resume,
    ended,  ///< answered when all workers have left
    state,  ///< of the optimizer, which follows the answer
    close,  ///< nothing will be asked any more
  };
  What what = What::push;
  int worker = 0;
  int64_t step = tracer::kNone, event = tracer::kNone;  ///< of the worker, as recorded
  bool records = false;                                 ///< the worker does
  double lr = 0;
  bool stop = false;  ///< to meet
  int signal = 0;     ///< that the worker has received; 0: none
  int64_t number = 0;
};

struct Answer {
  int64_t version = 0;     ///< to a pull: of the weights; to a push: that was read
  bool discarded = false;  ///< to a push
  bool stop = false;       ///< to meet
  int signal = 0;          ///< that some worker, or the server, has received
  std::vector<int> awaited = {};  ///< to a pull: the workers that it had to wait for …
  int last = -1;                  ///< … the last of them to push …
  int64_t event = tracer::kNone;  ///< … and that push, among the events of its process
  int64_t peak = 0;               ///< to ended: bytes of the server's device
  std::string state = {};         ///< what follows; see StateHeader in server_state.h
};

/// Called while waiting, several times a second; throws std::runtime_error if a rank
/// has died or hangs.
using RequireAll = std::function<void()>;

/// The letters between the workers and one server: texts in the store. The server
/// takes requests in the order in which they were sent, whichever worker sent them.
/// Thread-safe.
class ServerMail {
 public:
  ServerMail(std::shared_ptr<distributed::Store> store, int server, int servers,
             RequireAll require_all);

  /// Sends a request, which gets its number. Returns it.
  int64_t ask(Request request) const;
  /// Waits for the answer to the request with this number.
  Answer read_answer(int64_t number) const;

  /// Waits for the next request. `meanwhile` is called now and then.
  Request next(const std::function<void()>& meanwhile);
  void answer(int64_t number, const Answer& answer) const;

 private:
  std::string wait_for(const std::string& key,
                       const std::function<void()>& meanwhile) const;

  const std::shared_ptr<distributed::Store> store_;
  const int server_, servers_;
  const RequireAll require_all_;
  int64_t next_ = 1;  ///< of the requests to this server
};

}  // namespace lockstep::sharing
