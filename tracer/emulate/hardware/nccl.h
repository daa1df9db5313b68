// Which algorithm and protocol NCCL chooses for a collective, and what it expects of
// them.
#pragma once

#include <string>

#include "tracer/emulate/hardware/hardware.h"

namespace lockstep::tracer {

/// A way of summing a buffer.
struct CollectiveChoice {
  std::string algorithm = "ring";  ///< or `tree`
  std::string protocol;            ///< `LL`, `LL128`, `Simple`; empty: not NCCL's
  double expected_us = 0;          ///< by NCCL's own formula
};

/// What a protocol costs.
struct ProtocolCost {
  double base_us = 0;     ///< once per collective
  double hop_us = 0;      ///< per message, instead of the path's latency
  double efficiency = 1;  ///< the share of the bandwidth that carries data
};

/// The ring that NCCL would use: its devices, and the slowest of its paths.
struct RingOfDevices {
  int devices = 1, machines = 1;
  double gb_per_s = 0;  ///< of each path, if all ranks send at the same time
  LinkClass within = LinkClass::pcie;
};

/// Returns the ring from each device to the next one.
RingOfDevices ring_of(Topology& topology, const Hardware& hardware, int devices);

/// Returns the costs of a protocol, from NCCL's tables (src/graph/tuning.cc).
ProtocolCost protocol_cost(const std::string& algorithm, const std::string& protocol,
                           LinkClass link_class);

/// Returns the time of an all-reduce by NCCL's formula, in µs. Ring:
/// base + (steps − between) · hop + between · network hop + bytes / bandwidth.
double nccl_time(const std::string& algorithm, const std::string& protocol,
                 int64_t bytes, const RingOfDevices& ring);

/// Returns the algorithm and protocol whose expected time is least. Without NCCL: the
/// ring, without a protocol. `only`, if not empty: the algorithm that it must be.
CollectiveChoice choose_all_reduce(int64_t bytes, const RingOfDevices& ring,
                                   const Hardware& hardware,
                                   const std::string& only = "");

/// Returns 2 (N − 1) · α + 2 (N − 1) / N · bytes / B, in µs: a ring without a library.
double ring_time(int64_t bytes, int devices, double latency_us, double gb_per_s);

}  // namespace lockstep::tracer
