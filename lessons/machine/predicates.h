// Queries on a trace for lessons: what was copied, what ran, and what waited for what.
// The returned events belong to the given trace and are sorted by time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tracer/format/trace.h"

namespace lockstep::lessons {

using Events = std::vector<const tracer::Event*>;

/// Returns the `copy` events with this reason (`scatter`, `reduce`, …).
Events copies_because(const tracer::Trace& trace, std::string_view why);
/// Returns the sum of the events' `bytes`.
int64_t bytes_of(const Events& copies);

/// Returns the events of a category, filtered by name if one is given.
Events events_of(const tracer::Trace& trace, std::string_view cat,
                 std::string_view name = {});
/// Returns the events of a training step.
Events in_step(const Events& events, int64_t step);
/// Returns the kernels and copies of a phase.
Events in_phase(const tracer::Trace& trace, std::string_view phase);

/// Returns the host's waits for a device inside calls to learners' functions with these
/// names, on all lanes.
Events host_waits_in(const tracer::Trace& trace,
                     const std::vector<std::string>& functions);

const tracer::Event* event_with_id(const tracer::Trace& trace, int64_t id);

/// Returns an argument, or `otherwise` if it is missing or has another type.
int64_t number(const tracer::Event& event, const char* key, int64_t otherwise = -1);
std::string text(const tracer::Event& event, const char* key);

/// True if `later` waits for `earlier`, directly or transitively, along `deps` and the
/// order of each stream.
bool depends_on(const tracer::Trace& trace, int64_t later, int64_t earlier);

}  // namespace lockstep::lessons
