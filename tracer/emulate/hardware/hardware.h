// Machines as data: links, and how they connect devices. The profiles are the JSON
// files of this folder.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tracer/emulate/hardware/measured_device.h"
#include "tracer/format/trace.h"

namespace lockstep::tracer {

enum class LinkClass : uint8_t { pcie, nvlink, network };

/// A kind of link.
struct LinkKind {
  std::string name, source;
  LinkClass link_class = LinkClass::pcie;
  double gb_per_s = 0;  ///< in each direction
  double latency_us = 0;
  bool peer_to_peer = true;  ///< devices may write to each other's memory over it
  bool half_duplex = false;  ///< both directions share the bandwidth
};

/// A link between two vertices of the topology, such as `gpu0` and `switch0`.
struct Wire {
  std::string from, to;
  size_t kind = 0;
};

/// What the host of such a machine takes for work that no trace of one device shows.
struct HostCosts {
  /// For making one parameter's part of one further replica, in each forward pass of
  /// DataParallel.
  double replica_us_per_parameter = 0;
  /// For one parameter in each forward pass of DataParallel, however many replicas
  /// there are.
  double replicate_us_per_parameter = 0;
  /// Replicas' threads take turns: while n of them run, each has 1/n of the pace.
  bool interpreter_lock = false;
  std::string source;
};

/// How many times as long kernels take while another device of the machine computes.
struct Contention {
  double slowdown = 1;                         ///< of all kernels together
  std::map<std::string, double> by_operation;  ///< e.g. of `aten::conv2d`
  std::string source;
};

/// How fast kernels move memory that a step of one device does not have: by phase and
/// kernel, `replicate flatten_many` (packing) or `reduce add`. What a kernel reads is
/// in a cache in one phase, and not in another.
struct MemoryRates {
  std::map<std::string, double> gb_per_s;  ///< read and written, together
  std::string source;
};

/// A machine, or several connected ones.
struct Hardware {
  std::string name, description, source;
  std::vector<LinkKind> kinds;
  std::vector<Wire> wires;  ///< of one machine
  int devices = 0;          ///< of one machine
  /// The wire from each machine to the network; its `from` is empty if there is none.
  Wire network;
  HostCosts host;
  MemoryRates memory;  ///< of kernels that are not in it, the step's own are assumed
  /// Kernels take this many times as long while a collective is in flight; 1: not
  /// measured, or none.
  double interference = 1;
  std::string interference_source;
  std::optional<Contention> contention;        ///< if it was measured; of one machine
  std::optional<MeasuredDevice> device_times;  ///< of its devices, if they are known
  bool nccl = false;  ///< collectives choose as NCCL does (nccl.h)

  /// Returns how many devices can be connected; 0: any number.
  int most_devices() const { return network.from.empty() ? devices : 0; }
};

/// Parses a profile. Throws std::runtime_error that names `file` and what is wrong.
Hardware parse_hardware(std::string_view text, const std::string& file);

/// A part of a path that all messages over it share.
struct Segment {
  std::string name;  ///< `gpu0>switch0`; `a-b` if both directions share it
  double gb_per_s = 0;
};

/// How a message gets from one device to another.
struct Path {
  std::vector<uint32_t> segments;          ///< one twice if the message passes it twice
  std::string via;                         ///< `gpu0>switch0>gpu1`
  double latency_us = 0;                   ///< the sum of its links'
  LinkClass link_class = LinkClass::pcie;  ///< of its slowest link
};

/// The wires between a number of devices.
class Topology {
 public:
  /// Throws std::runtime_error if the hardware has fewer devices. It must outlive this.
  Topology(const Hardware& hardware, int devices);

  const std::vector<Segment>& segments() const { return segments_; }
  /// Returns the path from a device, or kHost, to another one: of the paths that do not
  /// lead through other devices, the one whose slowest link is fastest; of those, the
  /// one with the fewest links. Without a path over links that are `peer_to_peer`, the
  /// message bounces: it goes to the host's memory, and from there to the receiver.
  /// Throws std::runtime_error if there is no path. Valid as long as this object.
  const Path& path(int64_t src, int64_t dst);

 private:
  struct Edge {
    size_t to;
    uint32_t segment;
    const LinkKind* kind;
  };
  using Edges = std::vector<const Edge*>;
  size_t vertex(const std::string& name);
  size_t host_of(int64_t device) const;
  size_t device(int64_t device) const;
  void connect(const std::string& from, const std::string& to, const LinkKind& kind);
  void connect_machine(const Hardware& hardware, int machine);
  /// The path with the fewest links, over links with at least that bandwidth, or none.
  /// `peers`: only over those on which devices reach each other's memory.
  Edges shortest(size_t from, size_t to, bool peers, double gb_per_s) const;
  Edges widest(size_t from, size_t to, bool peers) const;
  Edges bounced(int64_t src, int64_t dst) const;
  Edges route(int64_t src, int64_t dst) const;
  Path path_over(size_t from, const Edges& edges) const;
  bool forwards(size_t vertex) const { return names_[vertex].rfind("gpu", 0) != 0; }

  const Hardware& hardware_;
  const int per_machine_;
  std::map<std::string, size_t> vertices_;
  std::vector<std::string> names_;
  std::vector<std::vector<Edge>> edges_;  ///< by vertex
  std::vector<Segment> segments_;
  std::map<std::pair<int64_t, int64_t>, Path> paths_;
};

/// Returns the highest rates, in bytes per ns, that are fair: no flow can be faster
/// without slowing one that is not faster (max-min fairness).
std::vector<double> fair_rates(const std::vector<const Path*>& flows,
                               const std::vector<Segment>& segments);

}  // namespace lockstep::tracer
