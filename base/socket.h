// TCP sockets that never block: addresses, listening, connecting.
#pragma once

#include <string>

#include "base/deadline.h"
#include "base/fd.h"

namespace lockstep {

/// "tcp://host:port", with brackets around an IPv6 address.
std::string tcp_url(const std::string& host, int port);

/// A socket that listens on the first address of `host` (a name, an IPv4 or an IPv6
/// address) that this machine has. Port 0: the system chooses. Throws
/// std::runtime_error naming the address and the fix.
Fd listen_at(const std::string& host, int port);

/// The port of a listening socket.
int port_of(const Fd& socket);

/// The next connection of a listening socket, or an empty Fd with errno set.
Fd accept_from(const Fd& listener);

/// A connection, or an empty Fd and why there is none. Tries each address of the host
/// once. Throws std::runtime_error if the host cannot be resolved.
struct Connected {
  Fd socket;
  std::string why_not;
};
Connected connect_to(const std::string& host, int port, TimePoint deadline);

/// Waits until the socket is ready for `events` of poll(2); false at the deadline.
bool wait_until_ready(const Fd& socket, short events, TimePoint deadline);

}  // namespace lockstep
