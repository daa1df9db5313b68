// Lesson 04: how long does a call take if it returns before it is done?
#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>

#include "engine/runtime/device_context.h"
#include "lessons/plugin.h"
#include "tracer/format/trace.h"

using namespace lockstep;

/// Returns the seconds that one `enqueue()` takes, measured over `calls` of them.
///
/// `enqueue` puts work for `device` into the device's queue and returns at once.
/// `runtime::context(device).synchronize()` waits until the device has finished all of
/// its work. `now()` reads the clock, in seconds: use no other clock, and read it as
/// often as you like (the first and the last reading count).
///
/// Make some calls before the measurement, since the first ones are slow; three are
/// enough here. There may also be unrelated work on the device. The measured calls must
/// run as in a real program, where the host is ahead of the device.
extern "C" double seconds_per_call(Device device, const std::function<void()>& enqueue,
                                   int calls, const std::function<double()>& now) {
  // [solution-benchmark]
  for (int i = 0; i < 3; ++i) enqueue();
  runtime::context(device).synchronize();
  const double start = now();
  for (int i = 0; i < calls; ++i) enqueue();
  runtime::context(device).synchronize();
  return (now() - start) / calls;
  // [/solution-benchmark]
  lessons::not_written("seconds_per_call: warm up, wait, read the clock, …");
}

/// Returns how far the host was ahead of each kernel of a recorded trace, by the
/// kernel's id: the nanoseconds from the end of its op on the host to its own start. 0
/// if the kernel started while its op was still running.
///
/// A tracer::Event (tracer/format/trace.h) has `is("kernel")`, `is("op")`, `id`, `ts`
/// (start, ns), `end()`, and, for a kernel, `op`: the id of the op that enqueued it.
extern "C" std::map<int64_t, int64_t> leads(const tracer::Trace& trace) {
  // [solution-leads]
  std::map<int64_t, int64_t> op_ended, found;
  for (const tracer::Event& event : trace.events) {
    if (event.is("op")) op_ended[event.id] = event.end();
  }
  for (const tracer::Event& event : trace.events) {
    if (!event.is("kernel")) continue;
    found[event.id] = std::max<int64_t>(0, event.ts - op_ended.at(event.op));
  }
  return found;
  // [/solution-leads]
  lessons::not_written("leads: when did each kernel start, and when had its op ended?");
}

// The tests find both functions by name; nothing in the engine is replaced.
LOCKSTEP_LESSON(4) {}
