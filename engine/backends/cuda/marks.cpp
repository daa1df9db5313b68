// CUDA events measure durations, not points in time. A base is therefore recorded from
// time to time: an event on an idle stream, and the host time just before it. A GPU
// time is the time of the base plus the duration since then. It is never late, and
// early by at most the few microseconds that recording the base took (the best of three
// attempts). A float in milliseconds has 7 digits: if the base is less than 0.2 s old,
// its resolution is 20 ns; the GPU clock itself ticks about every half microsecond.
// Source: CUDA Runtime API, cudaEventElapsedTime.
#include "engine/backends/cuda/marks.h"

#include <cstdlib>
#include <map>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/backends/cuda/gpus.h"
#include "engine/backends/cuda/status.h"
#include "tracer/record/recorder.h"

namespace lockstep::cuda {

struct ClockBase {
  cudaEvent_t event = nullptr;
  int64_t ns = 0;
};

namespace {

/// Returns whether threads that wait for an event spin. By default they block, since
/// spinning would occupy a core per device; but blocking needs the GPU's interrupts,
/// which some sandboxes do not deliver. LOCKSTEP_CUDA_SPIN=1 makes them spin.
bool spins() {
  static const bool spin = [] {
    const char* text = std::getenv("LOCKSTEP_CUDA_SPIN");
    return text && std::string_view(text) == "1";
  }();
  return spin;
}

/// A pool of unused events, by GPU and kind. Never destroyed: at process exit CUDA may
/// already be shut down.
class Pool {
 public:
  cudaEvent_t take(int gpu, bool timed) {
    {
      std::lock_guard lock(mutex_);
      auto& free = free_[{gpu, timed}];
      if (!free.empty()) {
        cudaEvent_t event = free.back();
        free.pop_back();
        return event;
      }
    }
    unsigned flags = spins() ? cudaEventDefault : cudaEventBlockingSync;
    if (!timed) flags |= cudaEventDisableTiming;
    cudaEvent_t event = nullptr;
    check(cudaEventCreateWithFlags(&event, flags), "cudaEventCreateWithFlags");
    return event;
  }
  void give_back(int gpu, bool timed, cudaEvent_t event) {
    std::lock_guard lock(mutex_);
    free_[{gpu, timed}].push_back(event);
  }

 private:
  std::mutex mutex_;
  std::map<std::pair<int, bool>, std::vector<cudaEvent_t>> free_;
};

Pool& pool() {
  static auto* const instance = new Pool;
  return *instance;
}

/// The newest base of one GPU. REQUIRES: that GPU is current.
class Clock {
 public:
  std::shared_ptr<const ClockBase> base(int gpu) {
    constexpr int64_t kOld = 200'000'000;
    std::lock_guard lock(mutex_);
    if (!base_ || tracer::now_ns() - base_->ns > kOld) base_ = take_base(gpu);
    return base_;
  }

 private:
  std::shared_ptr<const ClockBase> take_base(int gpu) {
    if (!stream_) {
      check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking),
            "cudaStreamCreateWithFlags");
    }
    std::shared_ptr<ClockBase> best(new ClockBase, [gpu](ClockBase* base) {
      if (base->event) pool().give_back(gpu, true, base->event);
      delete base;
    });
    int64_t shortest = INT64_MAX;
    for (int i = 0; i < 3; ++i) {
      cudaEvent_t event = pool().take(gpu, true);
      const int64_t before = tracer::now_ns();
      check(cudaEventRecord(event, stream_), "cudaEventRecord");
      check(cudaEventSynchronize(event), "cudaEventSynchronize");
      const int64_t took = tracer::now_ns() - before;
      if (took < shortest) {
        shortest = took;
        std::swap(best->event, event);
        best->ns = before;
      }
      if (event) pool().give_back(gpu, true, event);
    }
    return best;
  }

  std::mutex mutex_;
  cudaStream_t stream_ = nullptr;
  std::shared_ptr<const ClockBase> base_;
};

Clock& clock_of(int gpu) {
  static std::mutex mutex;
  static auto* const clocks = new std::map<int, Clock>;
  std::lock_guard lock(mutex);
  return (*clocks)[gpu];
}

}  // namespace

EventMark::EventMark(int gpu, cudaStream_t stream, bool timed)
    : gpu_(gpu), timed_(timed), event_(pool().take(gpu, timed)) {
  if (timed) base_ = clock_of(gpu).base(gpu);
  check(cudaEventRecord(event_, stream), "cudaEventRecord");
}

EventMark::~EventMark() { pool().give_back(gpu_, timed_, event_); }

void EventMark::wait() const {
  const GpuScope scope(gpu_);
  check(cudaEventSynchronize(event_), "cudaEventSynchronize");
}

int64_t EventMark::time() const {
  float milliseconds = 0;
  const GpuScope scope(gpu_);
  check(cudaEventElapsedTime(&milliseconds, base_->event, event_),
        "cudaEventElapsedTime");
  return base_->ns + static_cast<int64_t>(static_cast<double>(milliseconds) * 1e6);
}

}  // namespace lockstep::cuda
