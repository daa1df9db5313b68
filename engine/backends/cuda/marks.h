// Positions in a queue, and the host-clock times at which the GPU reached them.
#pragma once

#include <cuda_runtime_api.h>

#include "engine/runtime/driver.h"

namespace lockstep::cuda {

/// A time known on both clocks: an event, and the host time at which it occurred.
struct ClockBase;

/// A cudaEvent_t, returned to a pool on destruction.
class EventMark : public runtime::Mark {
 public:
  /// Records an event on `stream` of `gpu`, which must be the current GPU.
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
  std::shared_ptr<const ClockBase> base_;  ///< null if not timed
};

}  // namespace lockstep::cuda
