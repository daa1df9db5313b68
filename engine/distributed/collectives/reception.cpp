#include "engine/distributed/collectives/reception.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <sstream>
#include <string_view>

#include "base/sha256.h"
#include "base/socket.h"

namespace lockstep::distributed {
namespace {

constexpr Milliseconds kPause{100};  // after a failure to accept
constexpr std::string_view kGreeting = "LKSR";
constexpr size_t kRankDigits = 8, kTokenBytes = 16;
constexpr size_t kGreetingBytes = kGreeting.size() + kRankDigits + 2 * kTokenBytes;

constexpr Milliseconds kTimeToGreet(10'000);
/// Among more than these, those that have had a second to greet make room for others.
constexpr size_t kMostGuests = 512;
constexpr Milliseconds kLeast(1000);

struct Address {
  std::string host, token;
  int port = 0;

  explicit Address(const std::string& text) {
    std::istringstream(text) >> host >> port >> token;
  }
};

}  // namespace

Reception::Reception(const std::string& host)
    : token_(hexadecimal(random_bytes(kTokenBytes))),
      listener_(listen_at(host, 0)),
      address_(fmt::format("{} {} {}", host, port_of(listener_), token_)) {}

bool Reception::is_full() const { return guests_.size() >= kMostGuests; }

std::vector<std::pair<int, Fd>> Reception::attend(const Fd& wake, TimePoint deadline) {
  const auto now_until = [&](const Guest& guest) {
    return guest.since + (is_full() ? kLeast : kTimeToGreet);
  };
  const bool accepts = !is_full() && Clock::now() >= accept_again_;
  std::vector<pollfd> waits{{wake.get(), POLLIN, 0},
                            {accepts ? listener_.get() : -1, POLLIN, 0}};
  if (!accepts && !is_full()) deadline = std::min(deadline, accept_again_);
  for (const Guest& guest : guests_) waits.push_back({guest.socket.get(), POLLIN, 0});
  if (!guests_.empty()) deadline = std::min(deadline, now_until(guests_.front()));
  ::poll(waits.data(), waits.size(), poll_timeout(deadline));

  std::vector<std::pair<int, Fd>> arrived;
  const auto now = Clock::now();
  for (size_t i = 0; i < guests_.size(); ++i) {
    Guest& guest = guests_[i];
    if (waits[i + 2].revents && read_greeting(guest, arrived)) guest.socket = Fd();
  }
  std::erase_if(guests_, [](const Guest& guest) { return !guest.socket; });
  while (!guests_.empty() && now >= now_until(guests_.front())) guests_.pop_front();
  if (waits[1].revents) accept_next(now);
  return arrived;
}

void Reception::accept_next(TimePoint now) {
  Fd socket = accept_from(listener_);
  if (socket) {
    guests_.push_back({std::move(socket), now, ""});
  } else if ((errno == EMFILE || errno == ENFILE) && !guests_.empty()) {
    guests_.pop_front();
  } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
             errno == ENOMEM) {
    accept_again_ = now + kPause;  // the listener stays readable meanwhile
  }
}

/// Returns whether the guest is no longer one: it has arrived, is a stranger, or has
/// hung up.
bool Reception::read_greeting(Guest& guest,
                              std::vector<std::pair<int, Fd>>& arrived) const {
  char piece[kGreetingBytes];
  const auto got =
      ::recv(guest.socket.get(), piece, kGreetingBytes - guest.greeting.size(), 0);
  if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) {
    return false;
  }
  if (got <= 0) return true;
  guest.greeting.append(piece, static_cast<size_t>(got));
  if (guest.greeting.size() < kGreetingBytes) return false;
  const std::string_view text = guest.greeting;
  const std::string_view digits = text.substr(kGreeting.size(), kRankDigits);
  int rank = -1;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), rank);
  const bool known =
      text.starts_with(kGreeting) && error == std::errc() &&
      equal_in_constant_time(text.substr(kGreeting.size() + kRankDigits), token_);
  if (known) arrived.emplace_back(rank, std::move(guest.socket));
  return true;
}

Reached reach(const std::string& address, int own_rank, TimePoint deadline) {
  const Address to(address);
  Connected connected = connect_to(to.host, to.port, deadline);
  if (!connected.socket) return {Fd(), connected.why_not};
  const std::string greeting =
      fmt::format("{}{:0{}}{}", kGreeting, own_rank, kRankDigits, to.token);
  const auto sent =
      ::send(connected.socket.get(), greeting.data(), greeting.size(), MSG_NOSIGNAL);
  if (sent == static_cast<ssize_t>(greeting.size())) {
    return {std::move(connected.socket), ""};
  }
  return {Fd(), sent < 0 ? std::strerror(errno) : "the connection is too slow"};
}

std::string shown_address(const std::string& address) {
  const Address to(address);
  return fmt::format("{} {}", to.host, to.port);
}

}  // namespace lockstep::distributed
