// What a published table says about a machine, in a few words, as links.
#pragma once

#include <string>

#include "tracer/emulate/hardware/nccl.h"

namespace lockstep::tracer {

/// The links that a description names. Rates are what its words stand for, not
/// measurements of that machine: they are the centre of a prior.
struct MachineLinks {
  LinkClass within = LinkClass::pcie;
  int links = 1;             ///< of each device; those of a mesh lead to 4 neighbours
  bool mesh = false;         ///< few devices use a part of the links
  bool pairs = false;        ///< `links` only join pairs; more devices use PCIe
  double gb_per_s = 0;       ///< of each link
  double pcie_gb_per_s = 0;  ///< of each device to its host
  double network_gb_per_s = 0;  ///< of each machine; 0: no network is named
  int per_machine = 8;          ///< devices, if there is a network
  bool stated = true;           ///< false: the description says nothing about links

  /// Returns on how many machines these devices are.
  int machines(int devices) const;
  /// Returns the slowest path of a ring of these devices. Factors multiply the rates.
  RingOfDevices ring(int devices, double link_factor, double network_factor) const;
};

/// Reads descriptions such as `NVLink2 + 1x100Gb IB` or `PCIe gen4, no P2P`. Rates are
/// NCCL's (src/graph/topo.h and tuning.cc, revision 5067397c): NVLink 18 GB/s per link
/// on P100, 20 on V100, A100 and GeForce, 20.6 on H100; PCIe 3.0 12 GB/s, doubled by
/// each generation; networks 12 GB/s for 100 Gbit/s. What is not named is PCIe of the
/// generation that the device has.
MachineLinks machine_links(const std::string& gpu, const std::string& interconnect);

/// Returns the description without its network: what machines of a family share.
std::string without_network(const std::string& interconnect);

}  // namespace lockstep::tracer
