// TCP sockets: listening and connecting. All sockets are non-blocking and
// close-on-exec; all functions are thread-safe.
#pragma once

#include <stdexcept>
#include <string>

#include "base/deadline.h"
#include "base/fd.h"

namespace lockstep {

/// Returns "tcp://host:port", with brackets around an IPv6 address.
std::string tcp_url(const std::string& host, int port);

/// After the system lacked memory or descriptors for a connection, a listener waits
/// this long before it accepts again: until then, its socket stays readable.
inline constexpr Milliseconds kPauseAfterFailedAccept{100};

/// Returns a socket that listens on the first address of `host` (a name, an IPv4 or an
/// IPv6 address) that this machine has. Port 0: the system chooses one. Throws
/// std::runtime_error naming the address and the fix. Resolving a name may block.
Fd listen_at(const std::string& host, int port);

/// Returns 127.0.0.1 or, on a machine (or in a network namespace) without IPv4, ::1.
const std::string& loopback_address();
/// Returns "host:port" of loopback_address(), as it follows "tcp://".
std::string loopback_endpoint(int port);

/// Returns a socket that listens where other machines can connect to `host`: on that
/// address if it is an IP address of this machine, and otherwise on all addresses of
/// this machine, IPv4 and IPv6. What a *name* means differs from machine to machine
/// (127.0.1.1 on Debian, IPv6 only), and behind a service or a NAT the address is not
/// this machine's at all. Throws as listen_at does.
Fd listen_for(const std::string& host, int port);

/// Returns whether `host` is an IPv4 or IPv6 address rather than a name.
bool is_ip_address(const std::string& host);

/// Returns the addresses of the two ends of a connection, or of a listening socket; an
/// IPv4 address as such even if the socket is an IPv6 one. "" on failure.
std::string own_end(const Fd& socket);
std::string other_end(const Fd& socket);

/// Returns whether this is an address by which a machine reaches only itself.
bool is_loopback(const std::string& address);

/// Returns whether the socket listens on all addresses.
bool listens_everywhere(const Fd& socket);

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

/// Thrown if a name has no address, or none yet.
struct CannotResolve : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Tries each address of the host once, until `deadline`, of which one that does not
/// answer uses no more than an equal share. Throws CannotResolve; resolving a name may
/// block past the deadline.
Connected connect_to(const std::string& host, int port, TimePoint deadline);

/// Waits until the socket is ready for `events` of poll(2) or has failed. Returns false
/// if the deadline passes first.
bool wait_until_ready(const Fd& socket, short events, TimePoint deadline);

}  // namespace lockstep
