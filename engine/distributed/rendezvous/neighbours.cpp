#include "engine/distributed/rendezvous/neighbours.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>

#include "base/interfaces.h"
#include "base/socket.h"
#include "engine/distributed/rendezvous/table.h"
#include "tracer/record/recorder.h"

namespace lockstep::distributed {
namespace {

std::string machine_key(int rank) { return "machine/" + std::to_string(rank); }

/// Rank 0 numbers the machines for all: otherwise every rank would read all keys.
std::string number_machines(Store& store, int world) {
  std::map<std::string, size_t> numbers;
  std::string list;
  for (int rank = 0; rank < world; ++rank) {
    const std::string machine = store.get(machine_key(rank));
    list +=
        std::to_string(numbers.emplace(machine, numbers.size()).first->second) + " ";
  }
  return list;
}

std::vector<int> parse_list(const std::string& text, int world) {
  std::istringstream words(text);
  std::vector<int> numbers;
  for (int number = 0; words >> number;) numbers.push_back(number);
  if (static_cast<int>(numbers.size()) == world) return numbers;
  throw std::runtime_error(
      "the store's list of machines is damaged; fix: restart all ranks");
}

/// Returns this rank's address for ranks of other machines.
std::string address_for_others(Store& store, const std::string& interface) {
  const std::string through_store = store.own_address();
  const bool known = !through_store.empty() && !is_loopback(through_store);
  if (interface.empty() && known) return through_store;
  const std::string address =
      choose_address(network_interfaces(), interface, default_address());
  if (!address.empty()) return address;
  throw std::runtime_error(
      "this machine has no network interface that other machines could reach; fix: "
      "connect it, or start all ranks on one machine");
}

}  // namespace

int Neighbours::machines() const {
  return static_cast<int>(std::set<int>(machine_of.begin(), machine_of.end()).size());
}

int Neighbours::local_world(int rank) const {
  return static_cast<int>(
      std::count(machine_of.begin(), machine_of.end(), machine_of[rank]));
}

int Neighbours::local_rank(int rank) const {
  return static_cast<int>(
      std::count(machine_of.begin(), machine_of.begin() + rank, machine_of[rank]));
}

std::string this_machine() {
  char network[64] = "";
  (void)!::readlink("/proc/self/ns/net", network, sizeof network - 1);
  return store::host_name() + " " + tracer::boot_id() + " " + network;
}

Neighbours meet_neighbours(Store& store, int rank, int world,
                           const std::string& interface, const std::string& machine) {
  const std::string all = "machines", hosts = "host_address";
  store.set(machine_key(rank), machine);
  if (rank == 0) store.set(all, number_machines(store, world));
  Neighbours here;
  here.machine_of = parse_list(store.get(all), world);
  const bool by_loopback = interface.empty() || is_loopback_interface(interface);
  if (here.machines() == 1 && by_loopback) {
    here.address = loopback_address();
    return here;
  }
  // Rank 0's machine hosts the store: its ranks reach it by an address that may be of
  // no use to others, and only the server knows by which one those have come.
  const bool asks_rank_0 = here.share_machine(0, rank) && interface.empty();
  if (rank == 0) {
    here.address = address_for_others(store, interface);
    store.set(hosts, here.address);
  } else {
    here.address =
        asks_rank_0 ? store.get(hosts) : address_for_others(store, interface);
  }
  return here;
}

}  // namespace lockstep::distributed
