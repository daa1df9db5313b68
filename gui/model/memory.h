// A device's memory in the order in which the device works.
//
// Memory is stream-ordered, as in CUDA's caching allocator: the host takes and frees a
// block in the order of its program, long before the device reaches that point of its
// queue. The trace's counters record the host's order. In time order the stage shows
// the device's, so each change of a counter is moved:
//
//   an allocation counts from the start of the first task that was enqueued after it:
//     the next task of the stream that it was made for or, if that one was enqueued
//     earlier and starts earlier, of any stream of the device;
//   a release counts from the end of the last task enqueued before it on the streams
//     that use the block (the counter's `tid` names the last of compute, copy, comm;
//     those before it are included) and, if it was copied, of the copies out of the
//     device; at the earliest when the host released it;
//   a move to another category counts from the start of the next task.
//
// Which task was enqueued after which counter is `memory_counters` of the task
// (tracer/format/README.md). Without it the order of the device is not known, and the
// bars show what the host has queued, labelled so.
#pragma once

#include "gui/model/model.h"

namespace lockstep::gui {

/// Returns true if the trace records in which order the device takes and frees memory.
bool knows_memory_order(const Device& device);

/// Returns the live bytes that a counter records.
Memory counted_memory(const Model& model, const Device::Counter& counter);

/// Returns the live bytes as the host counted them by `ts`; before the first counter,
/// that counter's.
Memory memory_queued(const Model& model, const Device& device, int64_t ts);

/// Returns the live bytes that the device has reached at `ts`; the first counter's at
/// its beginning. REQUIRES: knows_memory_order(device).
Memory memory_reached(const Device& device, int64_t ts);

}  // namespace lockstep::gui
