#include "tracer/emulate/hardware_links.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "tracer/emulate/hardware/nccl.h"
#include "tracer/format/facts.h"
#include "tracer/format/lanes.h"

namespace lockstep::tracer {

namespace {

int count_devices(const Trace& trace) {
  const auto found = trace.lockstep.find(top::devices);
  const bool listed = found != trace.lockstep.end() && found->is_array();
  return listed ? std::max(1, static_cast<int>(found->size())) : 1;
}

}  // namespace

std::string links_assumed(const Hardware& hardware) {
  return fmt::format("on the links of {}, which copies at the same time share fairly{}",
                     hardware.name,
                     hardware.nccl ? "; collectives as NCCL's tables predict" : "");
}

std::string not_in_profile(const Hardware& hardware, double interference) {
  std::vector<const char*> lacks;
  if (hardware.host.source.empty()) {
    lacks.push_back("what DataParallel's replicas cost the host (taken as nothing)");
  }
  if (hardware.interference_source.empty() && interference == 1) {
    lacks.push_back("how much collectives slow kernels down (taken as not at all)");
  }
  if (lacks.empty()) return "";
  return fmt::format("{} does not say {}", hardware.name, fmt::join(lacks, ", nor "));
}

Json hardware_facts(const Hardware& hardware, const Trace& trace) {
  Json facts{{"name", hardware.name}, {"source", hardware.source}};
  for (const LinkKind& kind : hardware.kinds) {
    facts["links"][kind.name] = {{"gb_per_s", kind.gb_per_s},
                                 {"latency_us", kind.latency_us},
                                 {"source", kind.source}};
  }
  const Topology topology(hardware, count_devices(trace));
  for (const Segment& segment : topology.segments()) {
    facts["segments"][segment.name] = segment.gb_per_s;
  }
  return facts;
}

HardwareLinks::HardwareLinks(const Hardware& hardware, const Trace& trace)
    : topology_(hardware, count_devices(trace)) {}

const Path* HardwareLinks::path_of(const Event& task) {
  if (!task.is(categories::copy)) return nullptr;
  const CopyFacts copy = copy_facts(task);
  if (copy.src == kNowhere || copy.dst == kNowhere || copy.src == copy.dst) {
    return nullptr;
  }
  return &topology_.path(copy.src, copy.dst);
}

std::optional<LinkMessage> HardwareLinks::message_of(const Event& task) {
  const Path* path = path_of(task);
  if (path == nullptr) return std::nullopt;
  const double bytes = std::max(0.0, number_arg(task.args, keys::bytes));
  const std::string protocol = string_arg(task.args, keys::protocol);
  if (protocol.empty()) return LinkMessage{path, bytes, path->latency_us * 1e3};
  const ProtocolCost cost =
      protocol_cost(string_arg(task.args, keys::algorithm), protocol, path->link_class);
  const bool first = int_arg(task.args, keys::ring_step) == 0;
  return LinkMessage{path, bytes / cost.efficiency,
                     (cost.hop_us + (first ? cost.base_us : 0)) * 1e3};
}

Schedule HardwareLinks::retime(const TimingGraph& graph, const Weights& weights) {
  return retime_with_links(graph, weights, topology_.segments(),
                           [this](const Event& task) { return message_of(task); });
}

void HardwareLinks::describe(Trace& trace) {
  for (Event& event : trace.events) {
    if (!is_task(event)) continue;
    event.args[keys::queued_us] = 0.0;
    if (const Path* path = path_of(event)) event.args[keys::via] = path->via;
  }
}

}  // namespace lockstep::tracer
