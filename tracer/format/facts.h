// The arguments of an event, by category: parsed once where an analysis
// needs them, instead of being looked up by name again and again.
#pragma once

#include <cstdint>
#include <string_view>

#include "tracer/format/trace.h"

namespace lockstep::tracer {

// Strings are valid as long as the event exists and is not modified; "" if absent.

struct KernelFacts {
  std::string_view phase, impl;
  int64_t queued = 0;  ///< ns spent waiting for a core or the GPU
  int64_t cpu = 0;     ///< ns of CPU time (of a GPU: in which it ran); else dur
};

/// For a `copy`, or one half of it (`send`, `recv`).
struct CopyFacts {
  int64_t src = kNowhere, dst = kNowhere;  ///< kHost, or a device's id
  int64_t bytes = kNone;                   ///< kNone if not specified
  int64_t known_bytes() const { return bytes == kNone ? 0 : bytes; }
  std::string_view why, phase, tensor, dtype;
  Value shape;
  bool modelled = false;
  // For a message of a collective.
  bool is_message = false;  ///< it has a `group`
  std::string_view group;
  int64_t seq = kNone, ring_step = 0;
};

struct CollectiveFacts {
  std::string_view collective, why, phase, tensor, algorithm, group;
  int64_t bytes = 0;
  bool sized = false;  ///< `bytes` is given
  int64_t group_size = kNone, seq = kNone, bucket = kNone;
  Value params;
  bool imported = false;
};

struct CallFacts {
  std::string_view file, def_file, module;
  int64_t line = 0, def_line = 0;
};

/// Return true for a copy within a device and for a memset, which PyTorch's profiler
/// records under these names; in an import they are `kernel` events.
inline bool is_memcpy(const Event& event) {
  return event.is(categories::kernel) && event.name.view().starts_with("Memcpy ");
}
inline bool is_memset(const Event& event) {
  return event.is(categories::kernel) && event.name.view().starts_with("Memset ");
}
/// Returns true for a kernel that computes.
inline bool computes(const Event& event) {
  return event.is(categories::kernel) && !is_memcpy(event) && !is_memset(event);
}

KernelFacts kernel_facts(const Event& event);
CopyFacts copy_facts(const Event& event);
CollectiveFacts collective_facts(const Event& event);
CollectiveFacts collective_facts(const Args& args);
CallFacts call_facts(const Event& event);

}  // namespace lockstep::tracer
