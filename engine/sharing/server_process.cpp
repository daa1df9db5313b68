#include "engine/sharing/server_process.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/ops/copy.h"
#include "engine/runtime/device_context.h"
#include "engine/sharing/server_state.h"
#include "tracer/record/recorder.h"

namespace lockstep::sharing {
namespace keys = tracer::keys;
using What = Request::What;

ServerProcess::ServerProcess(ParameterServer& server, ServerMail mail,
                             std::shared_ptr<distributed::ProcessGroup> links,
                             int workers)
    : server_(server),
      mail_(std::move(mail)),
      links_(std::move(links)),
      workers_(workers),
      pushes_(workers),
      events_(workers, tracer::kNone),
      active_(workers) {}

/// Records a request if its worker does, and at its step: a message has two halves.
class ServerProcess::AsItsWorker {
 public:
  AsItsWorker(const ServerProcess& server, const Request& request)
      : before_(tracer::recording()) {
    switch_to(server.records_ && request.records);
    tracer::set_step(request.step);
  }
  ~AsItsWorker() { switch_to(before_); }
  AsItsWorker(const AsItsWorker&) = delete;
  AsItsWorker& operator=(const AsItsWorker&) = delete;

 private:
  static void switch_to(bool on) {
    if (on) {
      tracer::start_recording();
    } else {
      tracer::stop_recording();
    }
  }
  const bool before_;
};

int ServerProcess::run() {
  const auto meanwhile = [this] {
    runtime::context(server_.device()).rethrow();
    require_progress();
  };
  while (!closed_) {
    const Request request = mail_.next(meanwhile);
    for (const int received : {signal(), request.signal}) {
      if (received != 0) signal_ = received;
    }
    if (request.step != tracer::kNone) before(request.step);
    records_ = tracer::recording();
    handle(request);
  }
  runtime::context(server_.device()).synchronize();
  return signal_;
}

void ServerProcess::require_progress() const {
  if (waiting_.empty() || Clock::now() - progress_ < patience) return;
  throw std::runtime_error(fmt::format(
      "rank {} pushed no gradient within {:g} s, and others wait for it: it is alive; "
      "is it slow (increase --timeout)?",
      waiting_[0].awaited.empty() ? -1 : waiting_[0].awaited[0],
      static_cast<double>(patience.count()) / 1000));
}

void ServerProcess::handle(const Request& request) {
  const AsItsWorker as(*this, request);
  progress_ = Clock::now();
  switch (request.what) {
    case What::push:
      return take_push(request);
    case What::finish:
      return finish(request);
    case What::pull:
      return take_pull(request);
    case What::meet:
      any_stop_ |= request.stop;
      meeting_.push_back(request.number);
      if (static_cast<int>(meeting_.size()) >= active_) end_meeting();
      return;
    case What::leave:
      return leave(request);
    case What::pause:
      server_.leave(request.worker);
      return serve_waiting();
    case What::resume:
      return server_.come_back(request.worker);
    case What::ended:
      ended_.push_back(request.number);
      return answer_ended();
    case What::state:
      return send_state(request);
    case What::close:
      closed_ = true;
  }
}

void ServerProcess::take_push(const Request& request) {
  tracer::Phase phase(tracer::phases::push);
  phase.event.arg({keys::worker, request.worker});
  CategoryScope category(MemoryCategory::gradients);
  const Tensor& weights = server_.weights();
  const Tensor gradient =
      Tensor::empty({weights.numel()}, server_.device(), weights.dtype());
  const distributed::Work received =
      links_->recv(gradient, request.worker,
                   message(tracer::reasons::push, "gradients", request.number));
  received.synchronize();
  received.wait();
  pushes_[request.worker] =
      server_.take(request.worker, gradient, received.done(), request.lr).push;
  events_[request.worker] = request.event;
  const UpdateRule::Push& push = pushes_[request.worker];
  answer(request.number, {.version = push.read_version, .discarded = push.discarded});
}

void ServerProcess::finish(const Request& request) {
  server_.finish(request.worker, pushes_[request.worker]);
  last_pusher_ = request.worker;
  serve_waiting();
}

void ServerProcess::take_pull(const Request& request) {
  if (server_.rule().may_pull(request.worker)) return send_weights(request, {});
  waiting_.push_back({request, server_.rule().awaited_by(request.worker)});
  serve_waiting();
}

/// Answers those who may go on, and makes an update that is due because a worker left.
void ServerProcess::serve_waiting() {
  while (true) {
    std::vector<Waiting> still;
    for (Waiting& pull : std::exchange(waiting_, {})) {
      if (!server_.rule().may_pull(pull.request.worker)) {
        still.push_back(std::move(pull));
        continue;
      }
      Answer answer{.awaited = pull.awaited};
      if (std::ranges::find(pull.awaited, last_pusher_) != pull.awaited.end()) {
        answer.last = last_pusher_;
        answer.event = events_[last_pusher_];
      }
      send_weights(pull.request, std::move(answer));
    }
    waiting_ = std::move(still);
    if (waiting_.empty() || !server_.rule().is_due()) return;
    const AsItsWorker as(*this, waiting_[0].request);
    server_.make_due_update(waiting_[0].request.worker);
  }
}

/// The next update must not overwrite what is being sent.
void ServerProcess::send_weights(const Request& request, Answer to_pull) {
  const AsItsWorker as(*this, request);
  tracer::Phase phase(tracer::phases::pull);
  phase.event.arg({keys::worker, request.worker});
  to_pull.version = server_.read(request.worker);
  answer(request.number, std::move(to_pull));
  links_
      ->send(server_.weights(), request.worker,
             message(tracer::reasons::pull, "weights", request.number))
      .wait();
}

void ServerProcess::send_state(const Request& request) {
  const Parameters state = server_.state();
  const StateHeader header(state);
  answer(request.number, {.state = header.text()});
  if (header.numel() == 0) return;
  const Tensor joined =
      ops::copy_to(StateHeader::join(state), server_.device(), {"collect", "state"});
  links_->send(joined, request.worker, message("collect", "state", request.number))
      .synchronize();
}

void ServerProcess::leave(const Request& request) {
  server_.leave(request.worker);
  --active_;
  if (!meeting_.empty() && static_cast<int>(meeting_.size()) >= active_) end_meeting();
  serve_waiting();
  answer_ended();
}

void ServerProcess::answer_ended() {
  if (active_ > 0) return;
  all_left();
  for (const int64_t number : std::exchange(ended_, {})) {
    answer(number, {.peak = runtime::peak_bytes(server_.device())});
  }
}

/// One who has left was told to stop, or has failed.
void ServerProcess::end_meeting() {
  const bool stop = std::exchange(any_stop_, false) || active_ < workers_;
  for (const int64_t number : std::exchange(meeting_, {})) {
    answer(number, {.stop = stop});
  }
}

void ServerProcess::answer(int64_t number, Answer answer) {
  answer.signal = signal_;
  mail_.answer(number, answer);
}

}  // namespace lockstep::sharing
