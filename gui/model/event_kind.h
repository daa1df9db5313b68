// Determines the kind of an element of `traceEvents` from our categories and from those
// of PyTorch's profiler.
#pragma once

#include "gui/model/event.h"
#include "tracer/format/event_fields.h"

namespace lockstep::gui {

Kind kind_of(const tracer::EventFields& f);

/// `ProfilerStep#7`: the only mark of a training step in traces of PyTorch's profiler.
bool is_profiler_step(const tracer::EventFields& f);
int64_t profiler_step(const tracer::EventFields& f);

/// The direction that PyTorch's profiler encodes in a copy's name: `Memcpy HtoD (…)`.
enum class Direction : uint8_t { none, to_device, to_host };
Direction memcpy_direction(const tracer::EventFields& f);

}  // namespace lockstep::gui
