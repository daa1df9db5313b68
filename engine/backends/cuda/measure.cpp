#include "engine/backends/cuda/measure.h"

#include <algorithm>
#include <limits>

#include "engine/backends/cuda/status.h"

namespace lockstep::cuda {
namespace {

constexpr int kRounds = 5;

size_t bytes_of(const Shape& sizes, bool bf16) {
  return sizes.numel() * (bf16 ? sizeof(Bf16) : sizeof(float));
}

struct TimedEvent {
  cudaEvent_t event = nullptr;
  TimedEvent() { check(cudaEventCreate(&event), "cudaEventCreate"); }
  ~TimedEvent() { cudaEventDestroy(event); }
  TimedEvent(const TimedEvent&) = delete;
};

}  // namespace

std::unique_ptr<ConvolutionMemory> ConvolutionMemory::make(const Convolution& p,
                                                           size_t workspace) {
  using Way = Convolution::Direction;
  const bool forward = p.direction == Way::forward;
  const bool data = p.direction == Way::backward_data;
  const std::array<size_t, 4> sizes{bytes_of(data ? p.w : p.x, p.bf16),
                                    bytes_of(forward ? p.w : p.y, p.bf16),
                                    bytes_of(forward ? p.y
                                             : data  ? p.x
                                                     : p.w,
                                             p.bf16),
                                    workspace};
  std::unique_ptr<ConvolutionMemory> made(new ConvolutionMemory);
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 0) continue;
    if (cudaMalloc(&made->blocks_[i], sizes[i]) != cudaSuccess) {
      cudaGetLastError();  // clear the error, which the caller handles
      made->blocks_[i] = nullptr;
      return nullptr;
    }
    check(cudaMemset(made->blocks_[i], 0, sizes[i]), "cudaMemset");
  }
  return made;
}

ConvolutionMemory::~ConvolutionMemory() {
  for (void* block : blocks_) cudaFree(block);
}

double ConvolutionMemory::time(const ExecutionPlan& plan, cudnnHandle_t handle) const {
  cudaStream_t stream = nullptr;
  check(cudnnGetStream(handle, &stream), "cudnnGetStream");
  const auto execute = [&] {
    plan.execute(handle, blocks_[0], blocks_[1], blocks_[2], blocks_[3]);
  };
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");  // cudaMemset
  execute();                                                // loads the kernel
  const TimedEvent began, ended;
  float least = std::numeric_limits<float>::infinity();
  for (int round = 0; round < kRounds; ++round) {
    check(cudaEventRecord(began.event, stream), "cudaEventRecord");
    execute();
    check(cudaEventRecord(ended.event, stream), "cudaEventRecord");
    check(cudaEventSynchronize(ended.event), "cudaEventSynchronize");
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, began.event, ended.event),
          "cudaEventElapsedTime");
    least = std::min(least, milliseconds);
  }
  return least * 1e3;
}

}  // namespace lockstep::cuda
