// Places in a queue, and when the GPU came there on the clock of the host.
#pragma once

#include <cuda_runtime_api.h>

#include "engine/runtime/driver.h"

namespace lockstep::cuda {

/// A moment that both clocks know: an event, and the host's time of it.
struct ClockBase;

/// A cudaEvent_t. When a mark ends, its event serves another.
class EventMark : public runtime::Mark {
 public:
  /// Records an event in `stream` of the GPU `gpu`, which is the calling thread's.
  EventMark(int gpu, cudaStream_t stream, bool timed);
  ~EventMark() override;
  EventMark(const EventMark&) = delete;

  void wait() const override;
  int64_t time() const override;
  cudaEvent_t event() const { return event_; }

 private:
  const int gpu_;
  const bool timed_;
  cudaEvent_t event_ = nullptr;
  std::shared_ptr<const ClockBase> base_;  ///< only if timed
};

}  // namespace lockstep::cuda
