#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <vector>

#include "base/sha256.h"
#include "base/socket.h"
#include "engine/distributed/rendezvous/tcp_store.h"

namespace lockstep::distributed {
namespace {

using store::Parsed;
using store::Service;

/// A greeting is shorter: more than this is not read from a stranger.
constexpr size_t kMostOfStrangers = 1024;

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
      stop_(::eventfd(0, EFD_CLOEXEC)),
      service_(limits.bytes),
      thread_([this] { serve(); }) {}

std::string TcpStoreServer::near_address() const {
  return listens_everywhere(listener_) ? "127.0.0.1" : own_end(listener_);
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
    std::vector<pollfd> polled{{stop_.get(), POLLIN, 0}};
    polled.push_back({may_accept() ? listener_.get() : -1, POLLIN, 0});  // -1: ignored
    for (const auto& [id, connection] : connections_) {
      // The next request is read after the previous one has been answered, so that no
      // client can exhaust our memory. Until then, only a disconnect is relevant.
      short events = POLLIN;
      if (connection.is_owed) events = POLLRDHUP;
      if (!connection.out.empty()) events = POLLRDHUP | POLLOUT;
      polled.push_back({connection.socket.get(), events, 0});
    }
    ::poll(polled.data(), polled.size(), milliseconds_to_sleep());
    if (polled[0].revents) return;

    size_t i = 2;  // connections follow in map order
    for (auto& [id, connection] : connections_) {
      attend(id, connection, polled[i++].revents);
    }
    if (polled[1].revents) accept_next();
    deliver(service_.expire(Clock::now()));
    remove_closed();
    {
      std::lock_guard lock(mutex_);
      present_ = service_.members_present();
    }
    left_.notify_all();
  }
}

/// Returns the time until the next timeout, as an argument to poll(2); −1 if none.
int TcpStoreServer::milliseconds_to_sleep() const {
  std::vector<TimePoint> times;
  if (const auto deadline = service_.next_deadline()) times.push_back(*deadline);
  if (Clock::now() < accept_again_) times.push_back(accept_again_);
  for (const auto& [id, connection] : connections_) {
    if (connection.is_stranger) {
      times.push_back(connection.accepted + time_to_greet());
      break;  // the others came later
    }
  }
  if (times.empty()) return -1;
  return poll_timeout(*std::min_element(times.begin(), times.end()));
}

bool TcpStoreServer::may_accept() const {
  return strangers_ < limits_.strangers && Clock::now() >= accept_again_;
}

Milliseconds TcpStoreServer::time_to_greet() const {
  return strangers_ < limits_.strangers ? limits_.stranger : limits_.crowded;
}

void TcpStoreServer::accept_next() {
  Fd socket = accept_from(listener_);
  const auto now = Clock::now();
  if (socket) {
    connections_[++last_id_] = {std::move(socket), now};
    ++strangers_;
  } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
             errno == ENOMEM) {
    // The listener stays readable: without a pause, this would be a busy loop.
    if (!drop_oldest_stranger()) accept_again_ = now + Milliseconds(100);
  }
}

/// A member's greeting takes moments: the oldest stranger is the least likely to be
/// one.
bool TcpStoreServer::drop_oldest_stranger() {
  for (auto& [id, connection] : connections_) {  // in the order of their arrival
    if (!connection.is_stranger || connection.is_closed) continue;
    connection.is_closed = true;
    remove_closed();
    return true;
  }
  return false;
}

void TcpStoreServer::attend(Service::Client id, Connection& connection, short events) {
  if (connection.is_closed) return;
  const bool waits_for_us = connection.is_owed || !connection.out.empty();
  if (events & (POLLHUP | POLLERR | POLLRDHUP) && waits_for_us) {
    connection.is_closed = true;
  } else if (events & POLLOUT) {
    connection.is_closed = !send_from(connection.out, connection.socket);
    connection.is_closed |= connection.hangs_up && connection.out.empty();
  } else if (events) {
    const size_t most = connection.is_stranger ? kMostOfStrangers : SIZE_MAX;
    connection.is_closed = !receive_into(connection.in, connection.socket, most);
  }

  while (!connection.is_closed && !connection.is_owed && connection.out.empty()) {
    const Parsed parsed = store::parse_frame(connection.in);
    if (parsed.state == Parsed::State::garbage) connection.is_closed = true;
    const bool too_long =
        connection.is_stranger && connection.in.size() > kMostOfStrangers;
    if (too_long) connection.is_closed = true;
    if (parsed.state != Parsed::State::whole || connection.is_closed) break;
    connection.in.erase(0, parsed.consumed);
    if (connection.is_stranger) {
      greet(connection, parsed.frame);
      break;
    }
    connection.is_owed = true;
    if (parsed.frame.op == store::Op::join) note_address(connection.socket);
    deliver(service_.handle(id, parsed.frame));
  }
  if (connection.is_stranger && Clock::now() >= connection.accepted + time_to_greet()) {
    connection.is_closed = true;
  }
}

void TcpStoreServer::greet(Connection& connection, const store::Frame& frame) {
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
    connection.out = store::encode(answer_to_proof(connection, fields));
  } else {
    connection.is_closed = true;
  }
}

store::Frame TcpStoreServer::answer_to_proof(Connection& connection,
                                             const store::Fields& fields) {
  const store::Claim claim{fields[0], fields[2], fields[1] == "1"};
  const auto why = [&](const char* whose) {
    return store::objection(claim, connection.nonces, credentials_, whose);
  };
  if (const auto objection = why("this rank")) {
    connection.hangs_up = true;
    std::lock_guard lock(mutex_);
    refusal_ = "a process at " + other_end(connection.socket) +
               " was refused: " + why("it").value_or("");
    return {store::Op::refused, {*objection}};
  }
  connection.is_stranger = false;
  --strangers_;
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
    if (to == connections_.end()) continue;
    to->second.out += store::encode(answer.frame);
    to->second.is_owed = false;
  }
}

void TcpStoreServer::remove_closed() {
  for (auto next = connections_.begin(); next != connections_.end();) {
    const auto [id, is_closed] = std::pair(next->first, next->second.is_closed);
    if (is_closed && next->second.is_stranger) --strangers_;
    next = is_closed ? connections_.erase(next) : std::next(next);
    if (is_closed) deliver(service_.disconnected(id));
  }
}

bool TcpStoreServer::wait_until_left(Milliseconds timeout) {
  std::unique_lock lock(mutex_);
  return left_.wait_until(lock, deadline_after(timeout),
                          [this] { return present_ == 0; });
}

}  // namespace lockstep::distributed
