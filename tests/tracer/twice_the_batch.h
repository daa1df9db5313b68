// A made recording with a larger batch.
#pragma once

#include "tracer/format/facts.h"

namespace lockstep::tracer::testing {

/// Returns a recording of one device with twice the batch: what is proportional to it
/// doubles, and kernels take `slower` times as long.
inline Trace twice_the_batch(const Trace& recorded, double slower) {
  Trace trace = recorded;
  for (Event& event : trace.events) {
    for (const char* key : {keys::batch, keys::input_bytes, keys::label_bytes,
                            keys::output_bytes, keys::flops}) {
      if (event.args.contains(key)) event.args[key] = 2 * int_arg(event.args, key);
    }
    if (event.name == names::step) {
      event.args[keys::chunks] = Json::array({int_arg(event.args, keys::batch)});
    }
    const CopyFacts copy = copy_facts(event);
    if (event.is(categories::copy) && copy.why == reasons::h2d) {
      Json shape = copy.shape.json();
      shape[0] = 2 * shape[0].get<int64_t>();
      event.args[keys::bytes] = 2 * copy.bytes;
      event.args[keys::shape] = shape;
    }
    if (!event.is(categories::kernel)) continue;
    event.args[keys::cpu_us] =
        slower * 1e-3 * static_cast<double>(kernel_facts(event).cpu);
  }
  return trace;
}

}  // namespace lockstep::tracer::testing
