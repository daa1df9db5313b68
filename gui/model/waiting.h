// Why a stream that has work does nothing: what its next task waits for.
#pragma once

#include "gui/model/model.h"

namespace lockstep::gui {

/// A task that was enqueued and has not started.
struct Waiting {
  enum class For : uint8_t {
    nothing,  ///< no task is enqueued: the stream is idle
    core,     ///< a kernel: everything that it depends on is done, and no core is free;
              ///< on a GPU: it is not launched yet, or the GPU runs kernels of another
              ///< device; never of null devices, whose times have no meaning
    ranks,    ///< other ranks have not joined the collective
    event,    ///< `awaited` has not ended
    port,     ///< `awaited`, a copy, holds a port that it needs
    start,    ///< the cause is not recorded
  };
  For cause = For::nothing;
  uint32_t task = kNoEvent;
  uint32_t awaited = kNoEvent;
};

/// Returns what a stream of a device waits for at `ts`, when it runs nothing. For a
/// trace from another program, `nothing`: it does not record when its tasks were
/// enqueued.
Waiting waiting_on(const Model& model, const Lane& lane, int64_t ts);

/// Returns what a device's first waiting stream waits for, in the order compute, comm,
/// copy.
Waiting waiting_on(const Model& model, int device, int64_t ts);

/// Returns how long a task waited before it started, in ns: a kernel for a core or the
/// GPU, a collective for other ranks. Taken from args.queued_us; 0 if it is absent.
int64_t queued_before(const Model& model, const Event& task);

}  // namespace lockstep::gui
