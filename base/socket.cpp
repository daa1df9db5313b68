#include "base/socket.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <stdexcept>

namespace lockstep {
namespace {

using Addresses = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

Addresses resolve(const std::string& host, int port, int flags) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | flags;
  addrinfo* found = nullptr;
  const int failed =
      ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (failed != 0) {
    throw CannotResolve(
        fmt::format("{}: the host cannot be resolved: {}; fix: use a name that this "
                    "machine can resolve, or an IP address",
                    tcp_url(host, port), ::gai_strerror(failed)));
  }
  return {found, ::freeaddrinfo};
}

Fd make_socket(const addrinfo& address) {
  return Fd(::socket(address.ai_family,
                     address.ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC,
                     address.ai_protocol));
}

void switch_on(const Fd& socket, int level, int option) {
  const int on = 1;
  ::setsockopt(socket.get(), level, option, &on, sizeof on);
}

/// Messages are small and await replies: Nagle's algorithm would only delay them.
void send_at_once(const Fd& socket) { switch_on(socket, IPPROTO_TCP, TCP_NODELAY); }

std::string fix_for_listening(int error) {
  if (error == EADDRINUSE) {
    return "stop the program that is listening there, or use another port";
  }
  if (error == EADDRNOTAVAIL) {
    return "use an address of this machine, or run this process on the machine named "
           "in the URL";
  }
  return "use another address or port";
}

/// A socket can connect to itself: TCP allows a simultaneous open, and the system may
/// choose the requested port as the socket's local port.
bool is_connected_to_itself(const Fd& socket) {
  sockaddr_storage own{}, peer{};
  socklen_t own_size = sizeof own, peer_size = sizeof peer;
  ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&own), &own_size);
  ::getpeername(socket.get(), reinterpret_cast<sockaddr*>(&peer), &peer_size);
  return own_size == peer_size && std::memcmp(&own, &peer, own_size) == 0;
}

/// Returns 0 on success, otherwise the errno of the attempt.
int connect_socket(const Fd& socket, const addrinfo& address, TimePoint deadline) {
  if (::connect(socket.get(), address.ai_addr, address.ai_addrlen) != 0) {
    if (errno != EINPROGRESS) return errno;
    if (!wait_until_ready(socket, POLLOUT, deadline)) return ETIMEDOUT;
    int error = 0;
    socklen_t size = sizeof error;
    if (::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) {
      return errno;
    }
    if (error != 0) return error;
  }
  return is_connected_to_itself(socket) ? ECONNREFUSED : 0;
}

/// Returns a listening socket, or an empty Fd with errno set. One for all IPv6
/// addresses takes IPv4 connections, too.
Fd listen_on(const addrinfo& address) {
  Fd socket = make_socket(address);
  if (!socket) return socket;
  // Without this option, a port stays reserved for a minute after a connection.
  switch_on(socket, SOL_SOCKET, SO_REUSEADDR);
  const int off = 0;
  if (address.ai_family == AF_INET6) {
    ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  }
  if (::bind(socket.get(), address.ai_addr, address.ai_addrlen) == 0 &&
      ::listen(socket.get(), SOMAXCONN) == 0) {
    return socket;
  }
  const int error = errno;
  socket = Fd();
  errno = error;
  return socket;
}

[[noreturn]] void cannot_listen(const std::string& host, int port, int error) {
  throw std::runtime_error(fmt::format("{}: cannot listen: {}; fix: {}",
                                       tcp_url(host, port), std::strerror(error),
                                       fix_for_listening(error)));
}

bool is_any_address(const std::string& host) {
  return host == "0.0.0.0" || host == "::";
}

std::string end_of(const Fd& socket, int (*ask)(int, sockaddr*, socklen_t*)) {
  sockaddr_storage end{};
  socklen_t size = sizeof end;
  char text[NI_MAXHOST];
  auto* address = reinterpret_cast<sockaddr*>(&end);
  if (ask(socket.get(), address, &size) != 0 ||
      ::getnameinfo(address, size, text, sizeof text, nullptr, 0, NI_NUMERICHOST) !=
          0) {
    return "";
  }
  const std::string host = text, mapped = "::ffff:";
  const bool is_ipv4 = host.starts_with(mapped) && host.find('.') != std::string::npos;
  return is_ipv4 ? host.substr(mapped.size()) : host;
}

/// Returns when an attempt must end so that `left` further ones have the same time.
TimePoint share_of(TimePoint deadline, int left) {
  const auto now = Clock::now();
  return now + (deadline - now) / (left + 1);
}

}  // namespace

std::string tcp_url(const std::string& host, int port) {
  const bool is_ipv6 = host.find(':') != std::string::npos;
  if (is_ipv6) return fmt::format("tcp://[{}]:{}", host, port);
  return fmt::format("tcp://{}:{}", host, port);
}

Fd listen_at(const std::string& host, int port) {
  const Addresses addresses = resolve(host, port, AI_PASSIVE);
  int error = EADDRNOTAVAIL;
  for (const addrinfo* at = addresses.get(); at; at = at->ai_next) {
    if (Fd socket = listen_on(*at)) return socket;
    error = errno;
    if (error == EADDRINUSE) break;  // clients would connect to this address
  }
  cannot_listen(host, port, error);
}

const std::string& loopback_address() {
  static const std::string address = [] {
    const std::string usual = "127.0.0.1", other = "::1";
    for (const std::string& candidate : {usual, other}) {
      try {
        listen_at(candidate, 0);
        return candidate;
      } catch (const std::runtime_error&) {
      }
    }
    return usual;  // listen_at() will report the error
  }();
  return address;
}

std::string loopback_endpoint(int port) {
  return tcp_url(loopback_address(), port).substr(std::string_view("tcp://").size());
}

Fd listen_for(const std::string& host, int port) {
  if (is_ip_address(host) && !is_any_address(host)) {
    const Addresses address = resolve(host, port, AI_PASSIVE);
    if (Fd socket = listen_on(*address)) return socket;
    if (errno != EADDRNOTAVAIL) cannot_listen(host, port, errno);
  }
  const Addresses all = resolve("::", port, AI_PASSIVE);
  if (Fd socket = listen_on(*all)) return socket;
  if (errno != EAFNOSUPPORT && errno != EADDRNOTAVAIL) cannot_listen(host, port, errno);
  return listen_at("0.0.0.0", port);  // this machine has no IPv6
}

bool is_ip_address(const std::string& host) {
  in6_addr any{};
  return ::inet_pton(AF_INET, host.c_str(), &any) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), &any) == 1;
}

bool is_loopback(const std::string& address) {
  return address.starts_with("127.") || address == "::1";
}

std::string own_end(const Fd& socket) { return end_of(socket, ::getsockname); }
std::string other_end(const Fd& socket) { return end_of(socket, ::getpeername); }

bool listens_everywhere(const Fd& socket) { return is_any_address(own_end(socket)); }

int port_of(const Fd& socket) {
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&own), &size);
  return ntohs(own.ss_family == AF_INET6
                   ? reinterpret_cast<const sockaddr_in6&>(own).sin6_port
                   : reinterpret_cast<const sockaddr_in&>(own).sin_port);
}

Fd accept_from(const Fd& listener) {
  Fd socket(::accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (socket) send_at_once(socket);
  return socket;
}

Connected connect_to(const std::string& host, int port, TimePoint deadline) {
  const Addresses addresses = resolve(host, port, 0);
  int error = EADDRNOTAVAIL, left = 0;
  for (const addrinfo* at = addresses.get(); at; at = at->ai_next) ++left;
  for (const addrinfo* at = addresses.get(); at; at = at->ai_next) {
    Fd socket = make_socket(*at);
    const TimePoint until = share_of(deadline, --left);
    error = socket ? connect_socket(socket, *at, until) : errno;
    if (error != 0) continue;
    send_at_once(socket);
    return {std::move(socket), ""};
  }
  return {Fd(), std::strerror(error)};
}

bool wait_until_ready(const Fd& socket, short events, TimePoint deadline) {
  pollfd polled{socket.get(), events, 0};
  for (;;) {
    if (::poll(&polled, 1, poll_timeout(deadline)) > 0) return true;
    if (Clock::now() >= deadline) return false;
  }
}

}  // namespace lockstep
