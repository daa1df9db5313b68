#include "engine/distributed/collectives/acceptor.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <sstream>
#include <string_view>

#include "base/crypto.h"
#include "base/socket.h"

namespace lockstep::distributed {
namespace {

constexpr std::string_view kHandshake = "LKSR";
constexpr size_t kRankDigits = 8, kTokenBytes = 16;
constexpr size_t kHandshakeBytes = kHandshake.size() + kRankDigits + 2 * kTokenBytes;

constexpr Milliseconds kHandshakeTimeout(10'000);
/// Among more than these, connections have a second for the handshake.
constexpr size_t kMostPending = 512;
constexpr Milliseconds kCrowdedTimeout(1000);

struct Address {
  std::string host, token;
  int port = 0;

  explicit Address(const std::string& text) {
    std::istringstream(text) >> host >> port >> token;
  }
};

}  // namespace

Acceptor::Acceptor(const std::string& host)
    : token_(hexadecimal(random_bytes(kTokenBytes))),
      listener_(listen_at(host, 0)),
      address_(fmt::format("{} {} {}", host, port_of(listener_), token_)) {}

bool Acceptor::is_full() const { return pending_.size() >= kMostPending; }

std::vector<std::pair<int, Fd>> Acceptor::poll(const Fd& wake, TimePoint deadline) {
  const auto now_until = [&](const Pending& pending) {
    return pending.since + (is_full() ? kCrowdedTimeout : kHandshakeTimeout);
  };
  const bool accepts = !is_full() && Clock::now() >= accept_again_;
  std::vector<pollfd> waits{{wake.get(), POLLIN, 0},
                            {accepts ? listener_.get() : -1, POLLIN, 0}};
  if (!accepts && !is_full()) deadline = std::min(deadline, accept_again_);
  for (const Pending& pending : pending_)
    waits.push_back({pending.socket.get(), POLLIN, 0});
  if (!pending_.empty()) deadline = std::min(deadline, now_until(pending_.front()));
  ::poll(waits.data(), waits.size(), poll_timeout(deadline));

  std::vector<std::pair<int, Fd>> arrived;
  const auto now = Clock::now();
  for (size_t i = 0; i < pending_.size(); ++i) {
    Pending& pending = pending_[i];
    if (waits[i + 2].revents && read_handshake(pending, arrived)) pending.socket = Fd();
  }
  std::erase_if(pending_, [](const Pending& pending) { return !pending.socket; });
  while (!pending_.empty() && now >= now_until(pending_.front())) pending_.pop_front();
  if (waits[1].revents) accept_next(now);
  return arrived;
}

void Acceptor::accept_next(TimePoint now) {
  Fd socket = accept_from(listener_);
  if (socket) {
    pending_.push_back({std::move(socket), now, ""});
  } else if ((errno == EMFILE || errno == ENFILE) && !pending_.empty()) {
    pending_.pop_front();
  } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
             errno == ENOMEM) {
    accept_again_ = now + kPauseAfterFailedAccept;
  }
}

/// Returns whether the handshake is over: it is complete, wrong, or the connection is
/// closed.
bool Acceptor::read_handshake(Pending& pending,
                              std::vector<std::pair<int, Fd>>& arrived) const {
  char piece[kHandshakeBytes];
  const auto got = ::recv(pending.socket.get(), piece,
                          kHandshakeBytes - pending.handshake.size(), 0);
  if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) {
    return false;
  }
  if (got <= 0) return true;
  pending.handshake.append(piece, static_cast<size_t>(got));
  if (pending.handshake.size() < kHandshakeBytes) return false;
  const std::string_view text = pending.handshake;
  const std::string_view digits = text.substr(kHandshake.size(), kRankDigits);
  int rank = -1;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), rank);
  const bool known =
      text.starts_with(kHandshake) && error == std::errc() &&
      equal_in_constant_time(text.substr(kHandshake.size() + kRankDigits), token_);
  if (known) arrived.emplace_back(rank, std::move(pending.socket));
  return true;
}

Reached reach(const std::string& address, int own_rank, TimePoint deadline) {
  const Address to(address);
  Connected connected = connect_to(to.host, to.port, deadline);
  if (!connected.socket) return {Fd(), connected.why_not};
  const std::string handshake =
      fmt::format("{}{:0{}}{}", kHandshake, own_rank, kRankDigits, to.token);
  const auto sent =
      ::send(connected.socket.get(), handshake.data(), handshake.size(), MSG_NOSIGNAL);
  if (sent == static_cast<ssize_t>(handshake.size())) {
    return {std::move(connected.socket), ""};
  }
  return {Fd(), sent < 0 ? std::strerror(errno) : "the connection is too slow"};
}

std::string shown_address(const std::string& address) {
  const Address to(address);
  return fmt::format("{} {}", to.host, to.port);
}

}  // namespace lockstep::distributed
