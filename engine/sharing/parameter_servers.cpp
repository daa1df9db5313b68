#include "engine/sharing/parameter_servers.h"

#include <stdexcept>

#include "engine/runtime/device_context.h"
#include "engine/sharing/server_state.h"
#include "tracer/format/keys.h"

namespace lockstep::sharing {
namespace keys = tracer::keys;

ParameterServers::ParameterServers(const std::vector<Device>& devices, int workers,
                                   const PsOptions& options)
    : options_(options), pushes_(workers, tracer::kNone), active_(workers) {
  for (const Device device : devices) {
    const int index = static_cast<int>(servers_.size());
    servers_.emplace_back(index, device, workers, options);
  }
}

void ParameterServers::begin(const Parameters& parameters, const Tensor& flat,
                             const optim::AnyOptions& optimizer,
                             const Parameters& state) {
  const Lock lock(mutex_);
  if (begun_) return;
  require_enough_keys(flat.numel(), servers_.size());
  const auto ranges = plan::key_ranges(flat.numel(), static_cast<int>(servers_.size()));
  for (ParameterServer& server : servers_) {
    const plan::KeyRange& range = ranges[server.index()];
    server.begin(parameters, range, flat.narrowed(range.begin, range.size()), optimizer,
                 state);
    runtime::host_wait(runtime::context(server.device()).copy().record_event(),
                       tracer::reasons::stream);  // `flat` is about to be changed
  }
  begun_ = true;
}

bool ParameterServers::has_begun() const {
  const Lock lock(mutex_);
  return begun_;
}

void ParameterServers::push(int worker, const Tensor& flat, double lr) {
  std::vector<Sent> all;
  int64_t last_event = tracer::kNone;
  for (ParameterServer& server : servers_) {
    tracer::Phase phase(tracer::phases::push);
    last_event = phase.event.id();
    const Lock lock(mutex_);
    throw_if_aborted();
    all.push_back(server.push(worker, part(flat, server), lr));
    const UpdateRule::Push& push = all.back().push;
    phase.event.arg({keys::worker, worker})
        .arg({keys::server, server.index()})
        .arg({keys::read_version, push.read_version});
    if (push.discarded) phase.event.arg({keys::discarded, true});
  }
  for (size_t i = 0; i < all.size(); ++i) {
    runtime::host_wait(all[i].arrived, tracer::reasons::stream);
    runtime::context(servers_[i].device()).rethrow();
  }
  const Lock lock(mutex_);
  for (size_t i = 0; i < all.size(); ++i) servers_[i].finish(worker, all[i].push);
  pushes_[worker] = last_event;
  changed_.notify_all();
}

void ParameterServers::pull(int worker, const Tensor& flat) {
  for (ParameterServer& server : servers_) {
    tracer::Phase phase(tracer::phases::pull);
    Lock lock(mutex_);
    wait_until_it_may_pull(worker, server, lock);
    const int64_t version = server.pull(worker, part(flat, server));
    phase.event.arg({keys::worker, worker})
        .arg({keys::server, server.index()})
        .arg({keys::read_version, version});
  }
}

void ParameterServers::wait_until_it_may_pull(int worker, ParameterServer& server,
                                              Lock& lock) {
  throw_if_aborted();
  if (server.rule().may_pull(worker)) return;
  const std::vector<int> awaited = server.rule().awaited_by(worker);
  tracer::HostEvent wait(tracer::categories::sync, "wait for workers");
  const UpdateRule& rule = server.rule();
  changed_.wait(lock,
                [&] { return aborted_ || rule.may_pull(worker) || rule.is_due(); });
  throw_if_aborted();
  std::vector<int64_t> ids, workers(awaited.begin(), awaited.end());
  for (const int other : awaited) {
    if (pushes_[other] != tracer::kNone) ids.push_back(pushes_[other]);
  }
  wait.arg({keys::why, tracer::reasons::workers})
      .arg({keys::server, server.index()})
      .arg(tracer::Arg::integers(keys::workers, workers));
  wait.waits_for(ids);
  wait.close();
  if (rule.may_pull(worker)) return;
  server.make_due_update(worker);
  changed_.notify_all();
}

Tensor ParameterServers::part(const Tensor& flat, const ParameterServer& server) const {
  return flat.narrowed(server.range().begin, server.range().size());
}

bool ParameterServers::meet(bool stop) {
  Lock lock(mutex_);
  any_stop_ |= stop;
  const int64_t meeting = meetings_;
  if (++present_ >= active_) release_meeting();
  changed_.wait(lock, [&] { return aborted_ || meetings_ != meeting; });
  throw_if_aborted();
  return stop_;
}

/// One who has left was told to stop, or has failed.
void ParameterServers::release_meeting() {
  stop_ = any_stop_ || active_ < static_cast<int>(pushes_.size());
  any_stop_ = false;
  present_ = 0;
  ++meetings_;
  changed_.notify_all();
}

void ParameterServers::leave(int worker) {
  const Lock lock(mutex_);
  for (ParameterServer& server : servers_) server.leave(worker);
  --active_;
  if (present_ > 0 && present_ >= active_) release_meeting();
  changed_.notify_all();
}

void ParameterServers::pause(int worker) {
  const Lock lock(mutex_);
  for (ParameterServer& server : servers_) server.leave(worker);
  changed_.notify_all();
}

void ParameterServers::resume(int worker) {
  const Lock lock(mutex_);
  for (ParameterServer& server : servers_) server.come_back(worker);
}

void ParameterServers::abort(const std::string& why) {
  const Lock lock(mutex_);
  if (!aborted_) aborted_ = why;
  changed_.notify_all();
}

void ParameterServers::throw_if_aborted() const {
  if (aborted_) throw std::runtime_error(*aborted_);
}

Parameters ParameterServers::state() const {
  const Lock lock(mutex_);
  std::map<std::string, Tensor> whole;
  if (begun_) {
    for (const ParameterServer& server : servers_) server.read_state(whole);
  }
  Parameters all;
  for (const auto& [name, value] : whole) all.push_back({name, value});
  return all;
}

}  // namespace lockstep::sharing
