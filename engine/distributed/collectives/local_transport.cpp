#include "engine/distributed/collectives/local_transport.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <stdexcept>

#include "engine/backends/backend.h"
#include "engine/runtime/pace.h"
#include "tracer/record/recorder.h"

namespace lockstep::distributed {

namespace {

/// If the wait fails, the queue has failed; its next user gets the error.
void wait_or_fail_later(Device device, const runtime::MarkPtr& mark) {
  try {
    queue_waits(device, mark);
  } catch (const std::exception&) {
  }
}

bool is_emulated(Device device) { return device.type == DeviceType::emulated; }

/// Returns the time of the calling worker's device.
int64_t time_on(Device device) {
  return is_emulated(device) ? runtime::task_span().end : tracer::now_ns();
}

/// Takes as long as the message would on the devices that are emulated.
void emulate(const Outgoing& message, const Incoming& in, Exchanged& times) {
  runtime::Pace& pace = runtime::pace();
  pace.sleep_until(times.in_began);
  const runtime::Span span =
      pace.copy(message.data.device, in.data.device, in.data.bytes(), times.in_began);
  times.in_began = span.begin;
  times.in_ended = span.end;
  int64_t& now = runtime::task_span().end;
  now = std::max(now, span.end + 1);  // the collective is longer than its message
}

/// Runs `undo` when the scope is left, including by an exception.
template <typename Undo>
struct AtExit {
  Undo undo;
  ~AtExit() { undo(); }
};

}  // namespace

int LocalHub::culprit(int rank) const {
  int awaited = awaited_[rank];
  for (int i = 0; i < size_ && awaited_[awaited] != kNobody; ++i) {
    awaited = awaited_[awaited];
  }
  return awaited;
}

Exchanged LocalTransport::exchange(const Outgoing* out, const Incoming* in,
                                   const Collective& call) {
  const Device device = (out ? out->data : in->data).device;
  const runtime::MarkPtr ready = out ? mark_queue(device) : nullptr;
  std::unique_lock lock(hub_->mutex_);
  Exchanged times;
  if (!out || (in && leave(*out, call))) {
    receive(*in, call, times, lock);
    return times;
  }
  LocalHub::Post& post = hub_->post(rank_, out->to);
  post = {out, LocalHub::Post::waiting, time_on(device), 0, ready};
  // A receiver may be reading our memory: wait for it, even after an exception.
  const AtExit withdraw{[&] {
    hub_->changed_[rank_].wait(
        lock, [&] { return post.state != LocalHub::Post::being_read; });
    wait_or_fail_later(device, post.read);
    post = {};
  }};
  hub_->changed_[out->to].notify_all();
  if (in) receive(*in, call, times, lock);
  wait(lock, out->to, call, [&] { return post.state == LocalHub::Post::taken; });
  if (is_emulated(device)) {
    int64_t& now = runtime::task_span().end;
    now = std::max(now, post.taken_at);
  }
  return times;
}

/// Leaves a copy of a small message of a ring behind, so that a rank runs on until its
/// own input is missing: with many ranks on few cores, a rendezvous for each message
/// costs two switches of threads, N² in each collective. Returns false if the receiver
/// must be met: if the exchange is recorded, whose times are those of a rendezvous; if
/// the message is large, or moved by hardware; and if it has left many already.
bool LocalTransport::leave(const Outgoing& out, const Collective& call) {
  constexpr int64_t kSmall = 64 << 10;
  constexpr size_t kMany = 128;
  const Buffer& data = out.data;
  std::deque<LocalHub::Left>& left = hub_->left(rank_, out.to);
  const bool by_host =
      data.device.is_host() || backend_of(data.device.type).driver() == nullptr;
  if (call.recorded() || !by_host || is_emulated(data.device) ||
      (data.data && data.bytes() > kSmall) || left.size() >= kMany || hub_->aborted_) {
    return false;
  }
  LocalHub::Left& message = left.emplace_back();
  message.tag = out.tag;
  message.after = out.after;
  message.posted_at = time_on(data.device);
  const auto* bytes = static_cast<const std::byte*>(data.data);
  if (bytes) message.data.assign(bytes, bytes + data.bytes());
  hub_->changed_[out.to].notify_all();
  return true;
}

void LocalTransport::require_same(const MessageTag& sent, const Incoming& in,
                                  const Collective& call) {
  if (sent == in.tag) return;
  hub_->aborted_ = disagreement(rank_, in.from, call, in.tag, sent);
  hub_->wake_all();
  throw std::runtime_error(*hub_->aborted_);
}

void LocalTransport::receive(const Incoming& in, const Collective& call,
                             Exchanged& times, std::unique_lock<std::mutex>& lock) {
  const int64_t ready_at = time_on(in.data.device);
  LocalHub::Post& post = hub_->post(in.from, rank_);
  std::deque<LocalHub::Left>& left = hub_->left(in.from, rank_);
  wait(lock, in.from, call, [&] {
    return !left.empty() || (post.message && post.state == LocalHub::Post::waiting);
  });
  if (!left.empty()) {
    LocalHub::Left message = std::move(left.front());
    left.pop_front();
    require_same(message.tag, in, call);
    lock.unlock();
    times.in_began = std::max(message.posted_at, ready_at);
    times.after = std::move(message.after);
    Buffer from = in.data;
    from.data = message.data.empty() ? nullptr : message.data.data();
    std::exception_ptr failure;
    try {
      apply(in, in.data, from);
    } catch (const std::exception& error) {
      failure = std::current_exception();
      abort(
          fmt::format("rank {} failed during {}: {}", rank_, str(call), error.what()));
    }
    times.in_ended = tracer::now_ns();
    lock.lock();  // the caller goes on with it
    if (failure) std::rethrow_exception(failure);
    return;
  }
  const Outgoing& message = *post.message;
  require_same(message.tag, in, call);
  times.in_began = std::max(post.posted_at, ready_at);
  times.after = message.after;
  post.state = LocalHub::Post::being_read;
  lock.unlock();
  std::exception_ptr failure;
  try {
    take(post, in, call.recorded(), times);
  } catch (const std::exception& error) {
    failure = std::current_exception();
    abort(fmt::format("rank {} failed during {}: {}", rank_, str(call), error.what()));
  }
  lock.lock();
  post.state = LocalHub::Post::taken;
  hub_->changed_[in.from].notify_all();
  if (failure) std::rethrow_exception(failure);
}

void LocalTransport::take(LocalHub::Post& post, const Incoming& in, bool recorded,
                          Exchanged& times) {
  const Device device = in.data.device;
  const Outgoing& message = *post.message;
  if (is_emulated(device)) {
    emulate(message, in, times);
    post.taken_at = times.in_ended;
    return;
  }
  queue_waits(device, post.ready);
  const runtime::MarkPtr began = recorded ? mark_queue(device, true) : nullptr;
  apply(in, in.data, message.data);
  post.read = mark_queue(device, recorded);
  if (began) {
    post.read->wait();
    times.in_began = std::max({times.in_began, began->time(), ended(message.waits)});
    times.in_ended = std::max(times.in_began, post.read->time());
  } else {
    times.in_ended = tracer::now_ns();
  }
}

template <typename Ready>
void LocalTransport::wait(std::unique_lock<std::mutex>& lock, int other,
                          const Collective& call, Ready ready) {
  const auto done = [&] { return hub_->aborted_ || ready(); };
  hub_->awaited_[rank_] = other;
  if (!hub_->changed_[rank_].wait_for(lock, timeout_, done)) {
    hub_->aborted_ =
        fmt::format("rank {} did not reach {} of rank {} within {} s",
                    hub_->culprit(rank_), str(call), rank_, timeout_.count() / 1000.0);
    hub_->wake_all();
  }
  hub_->awaited_[rank_] = LocalHub::kNobody;
  if (hub_->aborted_) throw std::runtime_error(*hub_->aborted_);
}

void LocalTransport::abort(const std::string& why) {
  std::lock_guard lock(hub_->mutex_);
  if (!hub_->aborted_) hub_->aborted_ = why;
  hub_->wake_all();
}

}  // namespace lockstep::distributed
