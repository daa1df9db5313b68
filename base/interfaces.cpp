#include "base/interfaces.h"

#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <memory>
#include <stdexcept>
#include <string_view>

#include "base/fd.h"
#include "base/socket.h"

namespace lockstep {
namespace {

bool is_ipv6(const std::string& address) {
  return address.find(':') != std::string::npos;
}

/// Networks that exist within one machine only.
bool is_internal(const std::string& name) {
  constexpr std::array<std::string_view, 6> kPrefixes{"docker", "br-",  "virbr",
                                                      "cni",    "veth", "lxc"};
  for (const std::string_view prefix : kPrefixes) {
    if (name.starts_with(prefix)) return true;
  }
  return false;
}

std::string listed(const std::vector<Interface>& interfaces) {
  std::string text;
  for (const Interface& one : interfaces) {
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", one.name, one.address);
  }
  return text.empty() ? "none" : text;
}

/// Asks which source address a packet to `host` would get.
std::string source_towards(const char* host) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_DGRAM;
  hints.ai_flags = AI_NUMERICHOST;
  if (::getaddrinfo(host, "9", &hints, &found) != 0) return "";
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found,
                                                                   &::freeaddrinfo);
  const Fd probe(::socket(found->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!probe || ::connect(probe.get(), found->ai_addr, found->ai_addrlen) != 0)
    return "";
  return own_end(probe);
}

/// The addresses of all interfaces; none if the system does not tell.
std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> all_addresses() {
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) all = nullptr;
  return {all, &::freeifaddrs};
}

}  // namespace

bool is_loopback_interface(const std::string& name) {
  const auto all = all_addresses();
  for (const ifaddrs* at = all.get(); at; at = at->ifa_next) {
    if (at->ifa_name == name && (at->ifa_flags & IFF_LOOPBACK)) return true;
  }
  return false;
}

std::vector<Interface> network_interfaces() {
  std::vector<Interface> interfaces;
  const auto all = all_addresses();
  for (const ifaddrs* at = all.get(); at; at = at->ifa_next) {
    if (!at->ifa_addr || !(at->ifa_flags & IFF_UP)) continue;
    const int family = at->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    char text[NI_MAXHOST];
    const socklen_t size =
        family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    if (::getnameinfo(at->ifa_addr, size, text, sizeof text, nullptr, 0,
                      NI_NUMERICHOST) != 0) {
      continue;
    }
    const std::string address = text;
    const bool has_scope = address.find('%') != std::string::npos;  // link-local
    if (!is_loopback(address) && !has_scope) {
      interfaces.push_back({at->ifa_name, address});
    }
  }
  return interfaces;
}

std::string default_address() {
  // Addresses reserved for documentation: they lead to the default route.
  const std::string ipv4 = source_towards("192.0.2.1");
  return ipv4.empty() ? source_towards("2001:db8::1") : ipv4;
}

std::string choose_address(const std::vector<Interface>& interfaces,
                           const std::string& wanted, const std::string& by_default) {
  std::string ipv6;
  for (const Interface& one : interfaces) {
    if (one.name != wanted) continue;
    if (!is_ipv6(one.address)) return one.address;
    if (ipv6.empty()) ipv6 = one.address;
  }
  if (!ipv6.empty()) return ipv6;
  if (!wanted.empty()) {
    throw std::runtime_error(
        fmt::format("--ifname {}: {}; fix: use one of this machine's: {}", wanted,
                    is_loopback_interface(wanted)
                        ? "other machines cannot reach a loopback interface"
                        : "no such interface that is up and has an address",
                    listed(interfaces)));
  }
  if (!by_default.empty() && !is_loopback(by_default)) return by_default;
  for (const Interface& one : interfaces) {
    if (!is_internal(one.name)) return one.address;
  }
  return interfaces.empty() ? "" : interfaces.front().address;
}

}  // namespace lockstep
