#include "engine/sharing/remote_servers.h"

#include <map>
#include <utility>

#include "engine/ops/copy.h"
#include "engine/runtime/device_context.h"
#include "engine/sharing/server_state.h"
#include "tracer/record/recorder.h"

namespace lockstep::sharing {
namespace keys = tracer::keys;
using What = Request::What;

RemoteServers::RemoteServers(std::shared_ptr<distributed::Store> store,
                             std::shared_ptr<distributed::ProcessGroup> links,
                             int servers, const PsOptions& options,
                             const RequireAll& require_all)
    : links_(std::move(links)), options_(options), read_(servers) {
  for (int k = 0; k < servers; ++k) mail_.emplace_back(store, k, servers, require_all);
}

int RemoteServers::rank_of(size_t server) const {
  return links_->size() - static_cast<int>(mail_.size() - server);
}

Request RemoteServers::request(What what) const {
  Request request;
  request.what = what;
  request.worker = links_->rank();
  request.step = tracer::current_step();
  request.records = tracer::recording();
  request.signal = own_signal_;
  return request;
}

void RemoteServers::tell_all(What what, int worker) {
  Request all = request(what);
  all.worker = worker;
  for (const ServerMail& mail : mail_) mail.ask(all);
}

Answer RemoteServers::read_answer(size_t server, int64_t number) const {
  Answer answer = mail_[server].read_answer(number);
  if (answer.signal != 0) known_signal_ = answer.signal;
  return answer;
}

int RemoteServers::told_to_stop(int mine) {
  own_signal_ = mine;
  return known_signal_;
}

void RemoteServers::begin(const Parameters& parameters, const Tensor& flat,
                          const optim::AnyOptions& /*optimizer*/,
                          const Parameters& /*state*/) {
  require_enough_keys(flat.numel(), size());
  parameters_ = parameters;
  device_ = flat.device();
  ranges_ = plan::key_ranges(flat.numel(), static_cast<int>(size()));
}

Tensor RemoteServers::part(const Tensor& flat, size_t server) const {
  return flat.narrowed(ranges_[server].begin, ranges_[server].size());
}

void RemoteServers::push(int worker, const Tensor& flat, double lr) {
  for (size_t k = 0; k < size(); ++k) {
    tracer::Phase phase(tracer::phases::push);
    Request push = request(What::push);
    push.event = phase.event.id();
    push.lr = lr;
    const int64_t number = mail_[k].ask(push);
    links_->send(part(flat, k), rank_of(k),
                 message(tracer::reasons::push, "gradients", number));
    const Answer answer = read_answer(k, number);
    phase.event.arg({keys::worker, worker})
        .arg({keys::server, static_cast<int64_t>(k)})
        .arg({keys::read_version, read_[k]});
    if (answer.discarded) phase.event.arg({keys::discarded, true});
  }
  runtime::context(device_).rethrow();
  tell_all(What::finish, worker);  // so that the phases end before others go on
}

void RemoteServers::pull(int worker, const Tensor& flat) {
  for (size_t k = 0; k < size(); ++k) {
    tracer::Phase phase(tracer::phases::pull);
    const int64_t since = tracer::now_ns();
    const int64_t number = mail_[k].ask(request(What::pull));
    const Answer answer = read_answer(k, number);
    if (!answer.awaited.empty()) note_wait(k, answer, since);
    links_
        ->recv(part(flat, k), rank_of(k),
               message(tracer::reasons::pull, "weights", number))
        .wait();
    read_[k] = answer.version;
    phase.event.arg({keys::worker, worker})
        .arg({keys::server, static_cast<int64_t>(k)})
        .arg({keys::read_version, answer.version});
  }
}

void RemoteServers::note_wait(size_t server, const Answer& answer,
                              int64_t since) const {
  tracer::HostEvent wait(tracer::categories::sync, "wait for workers");
  const std::vector<int64_t> workers(answer.awaited.begin(), answer.awaited.end());
  wait.begin_at(since);
  wait.arg({keys::why, tracer::reasons::workers})
      .arg({keys::server, static_cast<int64_t>(server)})
      .arg(tracer::Arg::integers(keys::workers, workers));
  if (answer.event == tracer::kNone) return;
  wait.arg({keys::for_rank, answer.last}).arg({keys::for_event, answer.event});
}

bool RemoteServers::meet(bool stop) {
  Request meet = request(What::meet);
  meet.stop = stop;
  return read_answer(0, mail_[0].ask(meet)).stop;
}

void RemoteServers::wait_until_all_left() {
  std::vector<int64_t> numbers;
  for (const ServerMail& mail : mail_) {
    numbers.push_back(mail.ask(request(What::ended)));
  }
  for (size_t k = 0; k < size(); ++k) {
    peaks_.push_back(read_answer(k, numbers[k]).peak);
  }
}

Parameters RemoteServers::state() const {
  std::map<std::string, Tensor> whole;
  if (has_begun()) {
    for (size_t k = 0; k < size(); ++k) take_state(k, whole);
  }
  Parameters all;
  for (const auto& [name, value] : whole) all.push_back({name, value});
  return all;
}

void RemoteServers::take_state(size_t server,
                               std::map<std::string, Tensor>& whole) const {
  const int64_t number = mail_[server].ask(request(What::state));
  const StateHeader header(read_answer(server, number).state);
  const DType dtype = parameters_[0].value.dtype();
  Tensor flat;
  if (header.numel() > 0) {
    const Tensor received = Tensor::empty({header.numel()}, device_, dtype);
    links_->recv(received, rank_of(server), message("collect", "state", number)).wait();
    flat = ops::copy_to(received, kHost, {"collect", "state"});
    runtime::context(device_).rethrow();
  }
  header.unpack(flat, parameters_, ranges_[server], whole);
}

}  // namespace lockstep::sharing
