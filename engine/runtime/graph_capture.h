// CUDA graphs: work that is captured once and then launched as a whole.
#pragma once

#include <functional>
#include <vector>

#include "engine/runtime/stream.h"

namespace lockstep::runtime {

/// The streams of a capture. The first is the one that replays run on.
using Streams = std::vector<Stream*>;

/// Captures the tasks that `enqueue_all` enqueues on `streams` instead of running them.
/// Waits between these streams become edges of the graph. First waits for everything
/// that they still have to do; then blocks until the capture has ended. Rethrows what
/// `enqueue_all` throws. Returns null, with a device poisoned, if a task failed, for
/// example one that waits for a stream outside of the capture. In `enqueue_all`,
/// host_wait throws. REQUIRES: the streams have hardware queues, and only `enqueue_all`
/// and threads that it waits for enqueue on them during the call.
/// Source: CUDA Programming Guide, "Cross-stream Dependencies and Events".
GraphPtr capture(const Streams& streams, const std::function<void()>& enqueue_all);

/// Runs a graph captured with these `streams` as one task of the first. It starts after
/// the work enqueued so far on the others, and their later work waits for it. Copy
/// streams are exempt in both directions, so that the next input can be copied in the
/// meantime: a copy waits for the work that it depends on. The caller must keep the
/// graph alive until the task has completed.
EventPtr replay(const GraphPtr& graph, const Streams& streams);

}  // namespace lockstep::runtime
