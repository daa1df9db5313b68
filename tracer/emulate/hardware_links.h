// The copies of a trace on the links of a machine.
#pragma once

#include <string>

#include "tracer/emulate/hardware/hardware.h"
#include "tracer/emulate/shared_links.h"

namespace lockstep::tracer {

/// Returns what is assumed about copies, as a part of a sentence.
std::string links_assumed(const Hardware& hardware);

/// Returns what a profile leaves out, and what is taken instead; empty if nothing.
/// `interference`: how much kernels slow down, if an option says it, else 1.
std::string not_in_profile(const Hardware& hardware, double interference);

/// Returns the profile's name and sources, and the bandwidth of each segment between
/// the trace's devices.
Json hardware_facts(const Hardware& hardware, const Trace& trace);

class HardwareLinks {
 public:
  /// Throws std::runtime_error if the hardware has fewer devices than the trace.
  HardwareLinks(const Hardware& hardware, const Trace& trace);

  /// Throws std::runtime_error if no wires lead where a copy goes.
  Schedule retime(const TimingGraph& graph, const Weights& weights);

  /// Notes each copy's path (`via`), and that no task waited for a core.
  void describe(Trace& trace);

 private:
  /// Returns the path of a copy, or nullptr if it uses no link.
  const Path* path_of(const Event& task);
  std::optional<LinkMessage> message_of(const Event& task);

  Topology topology_;
};

}  // namespace lockstep::tracer
