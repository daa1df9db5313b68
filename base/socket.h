// TCP sockets: listening and connecting. All sockets are non-blocking and
// close-on-exec; all functions are thread-safe.
#pragma once

#include <string>

#include "base/deadline.h"
#include "base/fd.h"

namespace lockstep {

/// Returns "tcp://host:port", with brackets around an IPv6 address.
std::string tcp_url(const std::string& host, int port);

/// Returns a socket that listens on the first address of `host` (a name, an IPv4 or an
/// IPv6 address) that this machine has. Port 0: the system chooses one. Throws
/// std::runtime_error naming the address and the fix. Resolving a name may block.
Fd listen_at(const std::string& host, int port);

/// Returns the port of a listening socket.
int port_of(const Fd& socket);

/// Accepts the next connection on a listening socket. Returns an empty Fd with errno
/// set if there is none.
Fd accept_from(const Fd& listener);

/// A connection, or an empty Fd and the system's error message.
struct Connected {
  Fd socket;
  std::string why_not;
};

/// Tries each address of the host once, until `deadline`. Throws std::runtime_error if
/// the host cannot be resolved; resolving it may block past the deadline.
Connected connect_to(const std::string& host, int port, TimePoint deadline);

/// Waits until the socket is ready for `events` of poll(2) or has failed. Returns false
/// if the deadline passes first.
bool wait_until_ready(const Fd& socket, short events, TimePoint deadline);

}  // namespace lockstep
