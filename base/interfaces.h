// The network interfaces of this machine.
#pragma once

#include <string>
#include <vector>

namespace lockstep {

struct Interface {
  std::string name;     ///< "eth0"
  std::string address;  ///< one of its IPv4 or IPv6 addresses, without a scope
};

/// Returns the addresses of the interfaces that are up, in the system's order, without
/// loopback and link-local ones.
std::vector<Interface> network_interfaces();

/// Returns whether it is the name of this machine's loopback, such as "lo".
bool is_loopback_interface(const std::string& name);

/// Returns the address from which a packet to other networks would be sent; "" if this
/// machine has no default route. Sends nothing.
std::string default_address();

/// Returns the address at which other machines most likely reach this one: that of
/// interface `wanted`, if given (IPv4 if it has one); otherwise `by_default` (see
/// default_address), or the first that does not belong to a bridge of containers or
/// virtual machines on this machine. "" if there is none. Throws std::runtime_error
/// listing the interfaces if `wanted` is not one of them.
std::string choose_address(const std::vector<Interface>& interfaces,
                           const std::string& wanted, const std::string& by_default);

}  // namespace lockstep
