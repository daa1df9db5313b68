// Which ranks share a machine, and at which address the others reach each.
#pragma once

#include <string>
#include <vector>

#include "engine/distributed/rendezvous/store.h"

namespace lockstep::distributed {

/// What one rank knows about where the ranks run.
struct Neighbours {
  std::vector<int> machine_of;  ///< by rank, numbered in the order of ranks
  std::string address;          ///< of this rank; loopback if there is one machine

  int machines() const;
  bool share_machine(int a, int b) const { return machine_of[a] == machine_of[b]; }
  /// Returns how many of its machine's ranks there are, and how many precede `rank`.
  int local_world(int rank) const;
  int local_rank(int rank) const;
};

/// Returns what distinguishes this machine: its host name, boot and network namespace.
/// Containers with their own network count as machines.
std::string this_machine();

/// Exchanges the ranks' machines through the store, after all of them have joined.
/// `interface`: see choose_address in base/interfaces.h; "" to choose. Without it, the
/// address is that of the connection to the store's host, or, for a file, that of the
/// default route. Throws std::runtime_error if several machines take part and this one
/// has no address, and what the store throws.
Neighbours meet_neighbours(Store& store, int rank, int world,
                           const std::string& interface,
                           const std::string& machine = this_machine());

}  // namespace lockstep::distributed
