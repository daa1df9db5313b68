// The vocabulary in which lessons judge a trace: what moved, what ran, what waited for
// what. Events are those of the trace that is passed in, in order of time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tracer/format/trace.h"

namespace lockstep::lessons {

using Events = std::vector<const tracer::Event*>;

/// `copy` events with this reason (`scatter`, `reduce`, …).
Events copies_because(const tracer::Trace& trace, std::string_view why);
/// Sum of their `bytes`.
int64_t bytes_of(const Events& copies);

/// Events of a category, by name if one is given.
Events events_of(const tracer::Trace& trace, std::string_view cat,
                 std::string_view name = {});
/// Those of a training step.
Events in_step(const Events& events, int64_t step);
/// Kernels and copies of a phase.
Events in_phase(const tracer::Trace& trace, std::string_view phase);

const tracer::Event* event_with_id(const tracer::Trace& trace, int64_t id);

/// An argument, or a fallback where it is missing or of another type.
int64_t number(const tracer::Event& event, const char* key, int64_t otherwise = -1);
std::string text(const tracer::Event& event, const char* key);

/// Does `later` wait for `earlier`, directly or through others? Along `deps` and the
/// order of each stream.
bool depends_on(const tracer::Trace& trace, int64_t later, int64_t earlier);

}  // namespace lockstep::lessons
