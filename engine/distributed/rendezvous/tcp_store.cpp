#include "engine/distributed/rendezvous/tcp_store.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <thread>

#include "base/crypto.h"
#include "base/socket.h"
#include "engine/distributed/rendezvous/table.h"

namespace lockstep::distributed {
namespace {

using store::Fields;
using store::Frame;
using store::Op;

constexpr Milliseconds kConnectAgain(50);
/// Time for the server's answer to arrive after a wait has timed out on the server.
/// Also limits the wait for the answer to leave(): a rank that exits because rank 0
/// does not respond must not wait for the entire timeout again.
constexpr Milliseconds kGrace(1000);

/// How often a client retries the handshake if the server closes the connection, which
/// it does to the oldest of many unauthenticated ones.
constexpr int kHandshakes = 8;

/// Thrown if the other side has closed the connection.
struct HungUp : StoreGone {
  using StoreGone::StoreGone;
};

Milliseconds time_until(TimePoint deadline) {
  return within_reason(std::chrono::ceil<Milliseconds>(deadline - Clock::now()));
}

/// Returns whether this is written as a host's name is.
bool may_be_named_later(const std::string& host) {
  return host.find_first_not_of(
             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
             "0123456789-._") == host.npos;
}

}  // namespace

TcpStore::TcpStore(std::string host, int port, Milliseconds timeout,
                   std::unique_ptr<TcpStoreServer> server, Credentials credentials)
    : Store(timeout),
      server_(std::move(server)),
      host_(std::move(host)),
      reached_at_(server_ ? server_->near_address() : host_),
      port_(port),
      credentials_(std::move(credentials)),
      exceptions_at_construction_(std::uncaught_exceptions()) {
  connect_first();
}

TcpStore::~TcpStore() {
  if (std::uncaught_exceptions() > exceptions_at_construction_) return;
  try {
    leave();
  } catch (const std::exception&) {  // a destructor cannot report errors
  }
}

void TcpStore::set(const std::string& key, const std::string& value) {
  ask({Op::set, {key, value}});
}

std::string TcpStore::get(const std::string& key, Milliseconds timeout) {
  return ask_and_wait(Op::get, {key}, timeout).at(0);
}

std::optional<std::string> TcpStore::try_get(const std::string& key) {
  const Frame answer = ask({Op::try_get, {key}});
  if (answer.op == Op::missing) return std::nullopt;
  return answer.fields.at(0);
}

int64_t TcpStore::add(const std::string& key, int64_t amount) {
  const Frame answer = ask({Op::add, {key, std::to_string(amount)}});
  return store::parse_number(answer.fields.at(0)).value();
}

void TcpStore::wait(const std::vector<std::string>& keys, Milliseconds timeout) {
  ask_and_wait(Op::wait, keys, timeout);
}

std::string TcpStore::compare_set(const std::string& key, const std::string& expected,
                                  const std::string& desired) {
  return ask({Op::compare_set, {key, expected, desired}}).fields.at(0);
}

bool TcpStore::remove(const std::string& key) {
  return ask({Op::remove, {key}}).fields.at(0) == "1";
}

Health TcpStore::beat(const Beat& mine) {
  return store::health_of(ask({Op::beat, store::fields_of(mine)}).fields);
}

void TcpStore::join(int rank, int world_size) {
  store::check_rank(rank, world_size);
  std::lock_guard lock(membership_);
  if (!member_) member_ = connect_again();
  exchange(member_,
           {Op::join,
            {std::to_string(rank), std::to_string(world_size), store::this_process()}},
           timeout());
}

void TcpStore::leave() {
  std::lock_guard lock(membership_);
  if (!member_) return;
  const Fd socket = std::move(member_);
  try {
    exchange(socket, {Op::leave, {}}, std::min(timeout(), kGrace));
  } catch (const StoreGone&) {  // without a server, no one waits for this
  }
}

void TcpStore::linger(Milliseconds timeout) {
  if (server_) server_->wait_until_left(timeout);
}

std::string TcpStore::own_address() const {
  if (server_) return server_->far_address();
  std::lock_guard lock(membership_);
  return member_ ? own_end(member_) : "";
}

std::string TcpStore::refusal() const { return server_ ? server_->refusal() : ""; }

int64_t TcpStore::server_clock() {
  return store::parse_number(ask({Op::clock, {}}).fields.at(0)).value();
}

std::string TcpStore::describe() const { return tcp_url(host_, port_); }

Fields TcpStore::ask_and_wait(Op op, const std::vector<std::string>& keys,
                              Milliseconds timeout) {
  Fields fields{std::to_string(timeout.count())};
  fields.insert(fields.end(), keys.begin(), keys.end());
  const Frame answer = ask({op, fields}, within_reason(timeout) + kGrace);
  if (answer.op == Op::missing) throw StoreTimeout(answer.fields, describe(), timeout);
  return answer.fields;
}

Frame TcpStore::ask(const Frame& request) { return ask(request, timeout()); }

Frame TcpStore::ask(const Frame& request, Milliseconds patience) {
  Fd socket;
  {
    std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      socket = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  if (!socket) socket = connect_again();
  Frame answer = exchange(socket, request, patience);
  std::lock_guard lock(mutex_);
  idle_.push_back(std::move(socket));  // on failure it is closed instead
  return answer;
}

void TcpStore::connect_first() {
  const auto deadline = deadline_after(timeout());
  for (;;) {
    Connected connected;
    try {
      connected = connect_to(reached_at_, port_, deadline);
    } catch (
        const CannotResolve&) {  // in a cluster, a name may appear with its machine
      if (!may_be_named_later(host_) || Clock::now() + kConnectAgain > deadline) throw;
    }
    if (connected.socket) {
      if (!handshake(connected.socket, deadline)) {
        connected.socket = connect_by(deadline);
      }
      idle_.push_back(std::move(connected.socket));
      return;
    }
    if (Clock::now() + kConnectAgain > deadline) {
      throw StoreGone(
          fmt::format("{}: no store after {}: {}; fix: start rank 0, which hosts it, "
                      "in time, and use its address and port",
                      describe(), store::seconds(timeout()), connected.why_not));
    }
    std::this_thread::sleep_for(kConnectAgain);
  }
}

Fd TcpStore::connect_again() { return connect_by(deadline_after(timeout())); }

Fd TcpStore::connect_by(TimePoint deadline) const {
  for (int attempt = 0; attempt < kHandshakes; ++attempt) {
    if (attempt > 0) std::this_thread::sleep_for(kConnectAgain);
    auto connected = connect_to(reached_at_, port_, deadline);
    if (!connected.socket) gone(connected.why_not);
    if (handshake(connected.socket, deadline)) return std::move(connected.socket);
  }
  gone("Connection closed");
}

/// Authenticates this process to the server, and the server to this process. Returns
/// false if the server closes the connection.
bool TcpStore::handshake(const Fd& socket, TimePoint deadline) const {
  try {
    store::Nonces nonces{random_bytes(store::kNonceBytes), ""};
    const Frame answer =
        exchange(socket, {Op::hello, {nonces.client}}, time_until(deadline));
    if (answer.fields.size() == 1) nonces.server = answer.fields[0];
    const Frame last =
        exchange(socket,
                 {Op::prove,
                  {credentials_.run_id, credentials_.secret.empty() ? "0" : "1",
                   store::client_proof(nonces, credentials_)}},
                 time_until(deadline));
    const std::string expected =
        store::server_proof(nonces, credentials_, credentials_.run_id);
    if (last.fields.size() == 1 && equal_in_constant_time(last.fields[0], expected)) {
      return true;
    }
  } catch (const HungUp&) {
    return false;
  }
  throw std::runtime_error(
      describe() +
      ": the program listening there does not know this job's secret; fix: use the "
      "address and the port of this job's rank 0");
}

Frame TcpStore::exchange(const Fd& socket, const Frame& request,
                         Milliseconds patience) const {
  const auto deadline = deadline_after(patience);
  const auto hung_up = [&] { throw HungUp(lost("Connection closed")); };
  const auto wait_for = [&](short events) {
    if (wait_until_ready(socket, events, deadline)) return;
    throw StoreGone(
        fmt::format("the store at {} (hosted by rank 0) does not answer after {}; is "
                    "its process stopped, or is another program listening there?",
                    describe(), store::seconds(patience)));
  };

  const std::string bytes = store::encode(request);
  for (size_t sent = 0; sent < bytes.size();) {
    wait_for(POLLOUT);
    const ssize_t now =
        ::send(socket.get(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (now < 0 && (errno == EPIPE || errno == ECONNRESET)) hung_up();
    if (now < 0 && errno != EAGAIN && errno != EINTR) gone(std::strerror(errno));
    if (now > 0) sent += now;
  }

  std::string received;
  for (;;) {
    const auto parsed = store::parse_frame(received);
    if (parsed.state == store::Parsed::State::garbage) {
      throw std::runtime_error(
          describe() +
          ": the program listening there is not a store; is this rank 0's port?");
    }
    if (parsed.state == store::Parsed::State::whole) {
      if (parsed.frame.op != Op::refused) return parsed.frame;
      throw std::runtime_error(describe() + ": " + parsed.frame.fields.at(0));
    }
    wait_for(POLLIN);
    char piece[1 << 16];
    const ssize_t got = ::recv(socket.get(), piece, sizeof piece, 0);
    if (got == 0 || (got < 0 && errno == ECONNRESET)) hung_up();
    if (got < 0 && errno != EAGAIN && errno != EINTR) gone(std::strerror(errno));
    if (got > 0) received.append(piece, got);
  }
}

std::string TcpStore::lost(const std::string& reason) const {
  return fmt::format("the store at {} (hosted by rank 0) was lost: {}", describe(),
                     reason);
}

void TcpStore::gone(const std::string& reason) const { throw StoreGone(lost(reason)); }

}  // namespace lockstep::distributed
