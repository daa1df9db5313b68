#include "tracer/emulate/contention.h"

#include <fmt/format.h>

#include <memory>
#include <unordered_map>
#include <utility>

#include "tracer/format/keys.h"
#include "tracer/format/lanes.h"

namespace lockstep::tracer {

namespace {

bool has_contention(const Hardware& hardware, const Trace& trace) {
  return hardware.contention && trace.lockstep.contains(top::constructed);
}

/// Returns the slowdown of each operation that has a figure of its own, by its id.
std::unordered_map<int64_t, double> slowdowns(const Contention& contention,
                                              const Trace& trace) {
  std::unordered_map<int64_t, double> result;
  for (const Event& event : trace.events) {
    if (event.ph != 'X' || is_task(event)) continue;
    const auto found = contention.by_operation.find(event.name.str());
    if (found != contention.by_operation.end()) result[event.id] = found->second;
  }
  return result;
}

}  // namespace

Weights with_contention(const Hardware& hardware, const Trace& trace, Weights weights) {
  if (!has_contention(hardware, trace)) return weights;
  const auto by_op = std::make_shared<std::unordered_map<int64_t, double>>(
      slowdowns(*hardware.contention, trace));
  weights.contention = [by_op,
                        others = hardware.contention->slowdown](const Event& kernel) {
    const auto found = by_op->find(kernel.op);
    return found == by_op->end() ? others : found->second;
  };
  return weights;
}

std::string contention_assumed(const Hardware& hardware) {
  if (!hardware.contention) return "";
  return fmt::format(
      "while another device computes, the kernels of each operation take as many times "
      "as long as {} says: {:.4g} times on average",
      hardware.name, hardware.contention->slowdown);
}

}  // namespace lockstep::tracer
