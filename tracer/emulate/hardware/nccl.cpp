#include "tracer/emulate/hardware/nccl.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace lockstep::tracer {
namespace {

constexpr std::array<const char*, 3> kProtocols{"LL", "LL128", "Simple"};

// NCCL, src/graph/tuning.cc, revision 5067397c; µs, by protocol.
using ByProtocol = std::array<double, 3>;
constexpr ByProtocol kTreeBase{6.8, 14, 8.4}, kRingBase{6.6, 14, 8.4};
constexpr ByProtocol kTreeNvlink{0.6, 1.25, 4}, kRingNvlink{0.6, 1.9, 3.4};
constexpr ByProtocol kTreePcie{1, 1.9, 4}, kRingPcie{1, 2.5, 5.7};
constexpr ByProtocol kTreeNetwork{5, 8.5, 14}, kRingNetwork{2.7, 4, 14};
// LL sends a flag with each 4 bytes; LL128 sends 120 bytes of 128.
constexpr ByProtocol kRingShare{0.5, 0.92, 1};
constexpr double kTree = 0.92, kTreeOfLL = 1 / 3.8, kTreeOfLL128 = 7.0 / 9.0;
constexpr double kTreeOfLL128Network = 120.0 / 128.0;

size_t index_of(const std::string& protocol) {
  for (size_t i = 0; i < kProtocols.size(); ++i) {
    if (protocol == kProtocols[i]) return i;
  }
  return 2;
}

double hop(bool tree, size_t protocol, LinkClass link_class) {
  switch (link_class) {
    case LinkClass::nvlink:
      return (tree ? kTreeNvlink : kRingNvlink)[protocol];
    case LinkClass::pcie:
      return (tree ? kTreePcie : kRingPcie)[protocol];
    case LinkClass::network:
      break;
  }
  return (tree ? kTreeNetwork : kRingNetwork)[protocol];
}

/// Returns the share of the bandwidth that a tree's protocol uses.
double share_of_tree(size_t protocol, bool several_machines) {
  if (protocol == 0) return kTree * kTreeOfLL;
  if (protocol == 2) return kTree;
  return kTree * (several_machines ? kTreeOfLL128Network : kTreeOfLL128);
}

/// LL128 needs stores of 128 bytes that arrive whole: NCCL permits it over NVLink.
bool permitted(const std::string& protocol, const RingOfDevices& ring) {
  return protocol != "LL128" || ring.within == LinkClass::nvlink;
}

}  // namespace

RingOfDevices ring_of(Topology& topology, const Hardware& hardware, int devices) {
  RingOfDevices ring{devices, (devices + hardware.devices - 1) / hardware.devices,
                     std::numeric_limits<double>::infinity(), LinkClass::pcie};
  if (devices < 2) return ring;
  std::vector<const Path*> paths;
  for (int device = 0; device < devices; ++device) {
    paths.push_back(&topology.path(device, (device + 1) % devices));
  }
  for (const double rate : fair_rates(paths, topology.segments())) {
    ring.gb_per_s = std::min(ring.gb_per_s, rate);
  }
  ring.within = paths[0]->link_class;
  return ring;
}

ProtocolCost protocol_cost(const std::string& algorithm, const std::string& protocol,
                           LinkClass link_class) {
  const bool tree = algorithm == "tree";
  const size_t i = index_of(protocol);
  return {(tree ? kTreeBase : kRingBase)[i], hop(tree, i, link_class),
          tree ? share_of_tree(i, link_class == LinkClass::network) : kRingShare[i]};
}

double nccl_time(const std::string& algorithm, const std::string& protocol,
                 int64_t bytes, const RingOfDevices& ring) {
  if (ring.devices < 2) return 0;
  const bool tree = algorithm == "tree", several = ring.machines > 1;
  const size_t i = index_of(protocol);
  const double within = hop(tree, i, ring.within);
  const double between = hop(tree, i, LinkClass::network);
  const double n = ring.devices, machines = ring.machines;
  const double moved = static_cast<double>(bytes) / (ring.gb_per_s * 1e3);  // µs
  if (tree) {
    const double latency =
        2 * ((n / machines - 1) * within + std::log2(machines) * between);
    return kTreeBase[i] + latency + 2 * moved / share_of_tree(i, several);
  }
  const double steps = 2 * (n - 1), crossing = several ? 2 * (machines - 1) : 0;
  return kRingBase[i] + (steps - crossing) * within + crossing * between +
         moved * steps / n / kRingShare[i];
}

CollectiveChoice choose_all_reduce(int64_t bytes, const RingOfDevices& ring,
                                   const Hardware& hardware, const std::string& only) {
  if (ring.devices < 2) return {};
  if (!hardware.nccl) return {only.empty() ? "ring" : only, "", 0};
  CollectiveChoice best;
  best.expected_us = std::numeric_limits<double>::infinity();
  for (const char* algorithm : {"ring", "tree"}) {
    if (!only.empty() && only != algorithm) continue;
    for (const char* protocol : kProtocols) {
      if (!permitted(protocol, ring)) continue;
      const double time = nccl_time(algorithm, protocol, bytes, ring);
      if (time < best.expected_us) best = {algorithm, protocol, time};
    }
  }
  return best;
}

double ring_time(int64_t bytes, int devices, double latency_us, double gb_per_s) {
  const double steps = 2.0 * (devices - 1);
  return steps * latency_us +
         steps / devices * static_cast<double>(bytes) / (gb_per_s * 1e3);
}

}  // namespace lockstep::tracer
