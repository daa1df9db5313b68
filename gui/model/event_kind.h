// Which kind of event an element of `traceEvents` is: by our categories, and by those
// of PyTorch's profiler.
#pragma once

#include "gui/model/event.h"
#include "tracer/format/event_fields.h"

namespace lockstep::gui {

Kind kind_of(const tracer::EventFields& f);

/// `ProfilerStep#7`: PyTorch's profiler has no other mark of a training step.
bool is_profiler_step(const tracer::EventFields& f);
int64_t profiler_step(const tracer::EventFields& f);

/// A `Memcpy HtoD (…)` of PyTorch's profiler says in its name from where to where.
enum class Direction : uint8_t { none, to_device, to_host };
Direction memcpy_direction(const tracer::EventFields& f);

}  // namespace lockstep::gui
