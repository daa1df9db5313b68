#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/crypto.h"
#include "base/socket.h"
#include "engine/distributed/rendezvous/tcp_store.h"

namespace lockstep::distributed {
namespace {

using store::Parsed;
using store::Service;

/// What else epoll reports, beside connections: their numbers begin at 1.
constexpr Service::Client kStop = -1, kListener = -2;
constexpr uint32_t kWatched = 1U << 31;  // marks events as known to epoll, also if none

/// A handshake is shorter: more than this is not read before it is complete.
constexpr size_t kMostOfUnauthenticated = 1024;

/// Reads at most `most` bytes. Returns false if the connection is closed.
bool receive_into(std::string& in, const Fd& socket, size_t most) {
  char piece[1 << 16];
  const ssize_t got = ::recv(socket.get(), piece, std::min(sizeof piece, most), 0);
  if (got > 0) in.append(piece, got);
  return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
}

bool send_from(std::string& out, const Fd& socket) {
  const ssize_t sent = ::send(socket.get(), out.data(), out.size(), MSG_NOSIGNAL);
  if (sent > 0) out.erase(0, sent);
  return sent >= 0 || errno == EAGAIN || errno == EINTR;
}

/// Each rank has a few connections, and a process may often open only 1,024 files.
Fd with_room_for_connections(Fd listener) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
    constexpr rlim_t kEnough = 1 << 16;
    limit.rlim_cur = std::max(limit.rlim_cur, std::min(limit.rlim_max, kEnough));
    ::setrlimit(RLIMIT_NOFILE, &limit);
  }
  return listener;
}

/// Returns the result of a system call. Throws if it failed.
int checked(int result) {
  if (result >= 0) return result;
  throw std::runtime_error(std::string("cannot serve a store: ") +
                           std::strerror(errno) +
                           "; fix: allow this process to open more files (ulimit -n)");
}

/// Returns an epoll instance whose wait ends when `stop` is readable.
Fd epoll_until(const Fd& stop) {
  Fd epoll(checked(::epoll_create1(EPOLL_CLOEXEC)));
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = static_cast<uint64_t>(kStop);
  checked(::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, stop.get(), &event));
  return epoll;
}

}  // namespace

TcpStoreServer::TcpStoreServer(const std::string& host, int port, Limits limits,
                               Credentials credentials)
    : TcpStoreServer(listen_at(host, port), host, limits, std::move(credentials)) {}

TcpStoreServer::TcpStoreServer(Fd listener, std::string host, Limits limits,
                               Credentials credentials)
    : host_(std::move(host)),
      limits_(limits),
      credentials_(std::move(credentials)),
      listener_(with_room_for_connections(std::move(listener))),
      port_(port_of(listener_)),
      stop_(Fd(checked(::eventfd(0, EFD_CLOEXEC)))),
      epoll_(epoll_until(stop_)),
      service_(limits.bytes),
      thread_([this] { serve(); }) {}

std::string TcpStoreServer::near_address() const {
  return listens_everywhere(listener_) ? loopback_address() : own_end(listener_);
}

std::string TcpStoreServer::far_address() {
  std::lock_guard lock(mutex_);
  return far_address_;
}

TcpStoreServer::~TcpStoreServer() {
  ::eventfd_write(stop_.get(), 1);
  thread_.join();
}

void TcpStoreServer::serve() {
  for (;;) {
    const TimePoint now = Clock::now();
    const uint32_t accepts = may_accept(now) ? uint32_t{EPOLLIN} : 0;
    if (!watch(listener_, kListener, listener_watched_, accepts)) {
      accept_again_ = now + kPauseAfterFailedAccept;
    }
    std::array<epoll_event, 64> events;
    const int count = ::epoll_wait(epoll_.get(), events.data(), events.size(),
                                   milliseconds_to_sleep(now));
    for (int i = 0; i < count; ++i) {
      const auto id = static_cast<Service::Client>(events[i].data.u64);
      if (id == kStop) return;
      if (id == kListener) accept_next();
      const auto found = connections_.find(id);
      if (found != connections_.end()) attend(id, found->second, events[i].events);
    }
    drop_late_handshakes();
    deliver(service_.expire(Clock::now()));
    while (!to_remove_.empty() || !to_read_.empty()) {
      remove_closed();
      read_on();
    }
    {
      std::lock_guard lock(mutex_);
      present_ = service_.members_present();
      const std::string& refused = service_.refused_to_join();
      if (refusal_.empty() && !refused.empty()) {
        refusal_ = "a process was refused: " + refused;
      }
    }
    left_.notify_all();
  }
}

/// Returns false, and watches `fd` as before, if the system lacks memory.
bool TcpStoreServer::watch(const Fd& fd, int64_t id, uint32_t& watched,
                           uint32_t events) {
  const uint32_t wanted = events | kWatched;
  if (watched == wanted) return true;
  epoll_event event{};
  event.events = events;
  event.data.u64 = static_cast<uint64_t>(id);
  const int change = watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
  if (::epoll_ctl(epoll_.get(), change, fd.get(), &event) != 0) return false;
  watched = wanted;
  return true;
}

/// The next request is read after the previous one has been answered, so that no client
/// can exhaust our memory. Until then, only a disconnect is relevant.
void TcpStoreServer::watch(Service::Client id, Connection& connection) {
  uint32_t events = EPOLLIN;
  if (connection.is_owed) events = EPOLLRDHUP;
  if (!connection.out.empty()) events = EPOLLRDHUP | EPOLLOUT;
  if (!watch(connection.socket, id, connection.watched, events)) close(id, connection);
}

/// Returns the time until the next timeout, as an argument to epoll_wait(2); −1 if
/// none.
int TcpStoreServer::milliseconds_to_sleep(TimePoint now) const {
  std::vector<TimePoint> times;
  if (const auto deadline = service_.next_deadline()) times.push_back(*deadline);
  if (now < accept_again_) times.push_back(accept_again_);
  if (!unauthenticated_.empty()) {
    const Connection& oldest = connections_.at(*unauthenticated_.begin());
    times.push_back(oldest.accepted + handshake_timeout());
  }
  if (times.empty()) return -1;
  return poll_timeout(*std::min_element(times.begin(), times.end()));
}

bool TcpStoreServer::may_accept(TimePoint now) const {
  return static_cast<int>(unauthenticated_.size()) < limits_.unauthenticated &&
         now >= accept_again_;
}

Milliseconds TcpStoreServer::handshake_timeout() const {
  const bool crowded =
      static_cast<int>(unauthenticated_.size()) >= limits_.unauthenticated;
  return crowded ? limits_.crowded : limits_.handshake;
}

void TcpStoreServer::accept_next() {
  Fd socket = accept_from(listener_);
  const auto now = Clock::now();
  if (socket) {
    const Service::Client id = ++last_id_;
    connections_[id] = {std::move(socket), now};
    unauthenticated_.insert(id);
    watch(id, connections_[id]);
  } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
             errno == ENOMEM) {
    // The listener stays readable: without a pause, this would be a busy loop.
    if (!drop_oldest_unauthenticated()) accept_again_ = now + kPauseAfterFailedAccept;
  }
}

/// A member's handshake takes moments: the oldest is the least likely to be
/// one.
bool TcpStoreServer::drop_oldest_unauthenticated() {
  if (unauthenticated_.empty()) return false;
  const Service::Client oldest = *unauthenticated_.begin();
  close(oldest, connections_.at(oldest));
  return true;
}

void TcpStoreServer::drop_late_handshakes() {
  const auto now = Clock::now();
  const auto oldest_is_late = [&] {
    return !unauthenticated_.empty() &&
           now >= connections_.at(*unauthenticated_.begin()).accepted +
                      handshake_timeout();
  };
  while (oldest_is_late()) drop_oldest_unauthenticated();
}

void TcpStoreServer::close(Service::Client id, Connection& connection) {
  if (std::exchange(connection.is_closed, true)) return;
  unauthenticated_.erase(id);
  to_remove_.push_back(id);
}

void TcpStoreServer::attend(Service::Client id, Connection& connection,
                            uint32_t events) {
  if (connection.is_closed) return;
  const bool waits_for_us = connection.is_owed || !connection.out.empty();
  if (events & (EPOLLHUP | EPOLLERR | EPOLLRDHUP) && waits_for_us) {
    return close(id, connection);
  }
  if (events & EPOLLOUT) {
    send(id, connection);
  } else {
    const size_t most =
        connection.is_unauthenticated ? kMostOfUnauthenticated : SIZE_MAX;
    if (!receive_into(connection.in, connection.socket, most)) {
      return close(id, connection);
    }
  }
  read_requests(id, connection);
  if (!connection.is_closed) watch(id, connection);
}

void TcpStoreServer::read_requests(Service::Client id, Connection& connection) {
  while (!connection.is_closed && !connection.is_owed && connection.out.empty()) {
    const Parsed parsed = store::parse_frame(connection.in);
    const bool too_long =
        connection.is_unauthenticated && connection.in.size() > kMostOfUnauthenticated;
    if (parsed.state == Parsed::State::garbage || too_long) {
      return close(id, connection);
    }
    if (parsed.state == Parsed::State::incomplete) return;
    connection.in.erase(0, parsed.consumed);
    if (connection.is_unauthenticated) {
      handshake(id, connection, parsed.frame);
      continue;
    }
    connection.is_owed = true;
    if (parsed.frame.op == store::Op::join) note_address(connection.socket);
    deliver(service_.handle(id, parsed.frame));
  }
}

/// Sends what the system accepts now, and the rest when it accepts more.
void TcpStoreServer::send(Service::Client id, Connection& connection) {
  if (!send_from(connection.out, connection.socket)) return close(id, connection);
  if (connection.closes_when_sent && connection.out.empty())
    return close(id, connection);
  watch(id, connection);
}

void TcpStoreServer::handshake(Service::Client id, Connection& connection,
                               const store::Frame& frame) {
  store::Nonces& nonces = connection.nonces;
  const store::Fields& fields = frame.fields;
  const bool is_hello = frame.op == store::Op::hello && nonces.client.empty() &&
                        fields.size() == 1 && fields[0].size() == store::kNonceBytes;
  const bool is_proof =
      frame.op == store::Op::prove && !nonces.client.empty() && fields.size() == 3;
  if (is_hello) {
    nonces = {fields[0], random_bytes(store::kNonceBytes)};
    connection.out = store::encode({store::Op::done, {nonces.server}});
  } else if (is_proof) {
    connection.out = store::encode(answer_to_proof(id, connection, fields));
  } else {
    return close(id, connection);
  }
  send(id, connection);
}

store::Frame TcpStoreServer::answer_to_proof(Service::Client id, Connection& connection,
                                             const store::Fields& fields) {
  const store::Claim claim{fields[0], fields[2], fields[1] == "1"};
  const auto why = [&](const char* whose) {
    return store::objection(claim, connection.nonces, credentials_, whose);
  };
  if (const auto objection = why("this rank")) {
    connection.closes_when_sent = true;
    std::lock_guard lock(mutex_);
    refusal_ = "a process at " + other_end(connection.socket) +
               " was refused: " + why("it").value_or("");
    return {store::Op::refused, {*objection}};
  }
  connection.is_unauthenticated = false;
  unauthenticated_.erase(id);
  return {store::Op::done,
          {store::server_proof(connection.nonces, credentials_, claim.run_id)}};
}

std::string TcpStoreServer::refusal() {
  std::lock_guard lock(mutex_);
  return refusal_;
}

void TcpStoreServer::note_address(const Fd& member) {
  const std::string here = own_end(member);
  // Connections within a machine have one address, or loopback addresses.
  if (is_loopback(here) || here == other_end(member)) return;
  std::lock_guard lock(mutex_);
  far_address_ = here;
}

void TcpStoreServer::deliver(const Service::Answers& answers) {
  for (const auto& answer : answers) {
    const auto to = connections_.find(answer.to);
    if (to == connections_.end() || to->second.is_closed) continue;
    to->second.out += store::encode(answer.frame);
    to->second.is_owed = false;
    send(answer.to, to->second);
    if (!to->second.in.empty()) to_read_.push_back(answer.to);
  }
}

/// Handles the requests that were received while an earlier one waited for its answer.
void TcpStoreServer::read_on() {
  while (!to_read_.empty()) {
    const auto found = connections_.find(to_read_.back());
    to_read_.pop_back();
    if (found == connections_.end() || found->second.is_closed) continue;
    read_requests(found->first, found->second);
    if (!found->second.is_closed) watch(found->first, found->second);
  }
}

void TcpStoreServer::remove_closed() {
  while (!to_remove_.empty()) {
    const Service::Client id = to_remove_.back();
    to_remove_.pop_back();
    connections_.erase(id);
    deliver(service_.disconnected(id));
  }
}

bool TcpStoreServer::wait_until_left(Milliseconds timeout) {
  std::unique_lock lock(mutex_);
  return left_.wait_until(lock, deadline_after(timeout),
                          [this] { return present_ == 0; });
}

}  // namespace lockstep::distributed
