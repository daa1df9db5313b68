#include "engine/backends/cuda/queue.h"

#include <nvtx3/nvToolsExt.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <mutex>

#include "engine/backends/cuda/cupti_timeline.h"
#include "engine/backends/cuda/gpus.h"
#include "engine/backends/cuda/launch_shape.h"
#include "engine/backends/cuda/status.h"
#include "tracer/record/device_activity.h"

namespace lockstep::cuda {
namespace {

thread_local CudaQueue* current_queue = nullptr;

constexpr size_t kPiece = size_t{32} << 20;    // bytes per piece of a staged copy
constexpr size_t kSmallest = size_t{1} << 20;  // bytes of a staging buffer
constexpr size_t kBuffers = 2;  // one is filled while the other is copied

/// Returns the Fault to which a device's kernels report, in page-locked memory that
/// both sides access. Never freed.
Fault* fault_of(Device device) {
  static std::mutex mutex;
  static auto* const faults = new std::map<Device, Fault*>;
  std::lock_guard lock(mutex);
  Fault*& fault = (*faults)[device];
  if (!fault) {
    void* data = nullptr;
    check(cudaHostAlloc(&data, sizeof(Fault),
                        cudaHostAllocPortable | cudaHostAllocMapped),
          "cudaHostAlloc");
    fault = new (data) Fault;
  }
  return fault;
}

}  // namespace

CudaQueue::CudaQueue(Device device) : device_(device), gpu_(gpu_of(device)) {
  const GpuScope scope(gpu_);
  check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking),
        "cudaStreamCreateWithFlags");
  fault_ = fault_of(device);
  constexpr size_t kBytes = kMostSharedTiles * sizeof(unsigned);
  check(cudaMalloc(&tickets_, kBytes), "cudaMalloc of tickets");
  check(cudaMemsetAsync(tickets_, 0, kBytes, stream_), "cudaMemsetAsync");
}

void CudaQueue::bind() {
  const GpuScope stays(gpu_);
  current_queue = this;
}

CudaQueue& CudaQueue::current() {
  if (current_queue == nullptr) {
    throw std::runtime_error("a CUDA kernel was launched outside a stream's worker");
  }
  return *current_queue;
}

void CudaQueue::wait(const runtime::Mark& mark) {
  const auto& event = static_cast<const EventMark&>(mark);
  check(cudaStreamWaitEvent(stream_, event.event(), 0), "cudaStreamWaitEvent");
}

runtime::MarkPtr CudaQueue::mark(bool timed) {
  return std::make_shared<EventMark>(gpu_, stream_, timed);
}

void CudaQueue::begin_capture() {
  // Other threads may continue to make unrelated CUDA calls.
  check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal),
        "cudaStreamBeginCapture");
}

runtime::GraphPtr CudaQueue::end_capture() {
  cudaGraph_t graph = nullptr;
  check(cudaStreamEndCapture(stream_, &graph), "cudaStreamEndCapture");
  return std::make_shared<CudaGraph>(graph);
}

void CudaQueue::launch(const runtime::Graph& graph) {
  check(cudaGraphLaunch(static_cast<const CudaGraph&>(graph).executable(), stream_),
        "cudaGraphLaunch");
}

void CudaQueue::begin_range(const char* name) {
  nvtxRangePushA(name);
  CuptiTimeline::begin(tracer::ActivityScope::event());
}

void CudaQueue::end_range() {
  CuptiTimeline::end();
  nvtxRangePop();
}

cudnnHandle_t CudaQueue::cudnn() {
  if (!cudnn_) {
    check(cudnnCreate(&cudnn_), "cudnnCreate");
    check(cudnnSetStream(cudnn_, stream_), "cudnnSetStream");
  }
  return cudnn_;
}

cublasHandle_t CudaQueue::cublas() {
  if (!cublas_) {
    check(cublasCreate(&cublas_), "cublasCreate");
    check(cublasSetStream(cublas_, stream_), "cublasSetStream");
    // cuBLAS's default size on Hopper. Its own workspace would be reallocated in every
    // captured step.
    constexpr size_t kWorkspace = size_t{32} << 20;
    void* workspace = nullptr;
    check(cudaMalloc(&workspace, kWorkspace), "cudaMalloc of the cuBLAS workspace");
    check(cublasSetWorkspace(cublas_, workspace, kWorkspace), "cublasSetWorkspace");
  }
  return cublas_;
}

/// Returns the next of two alternating buffers, after waiting for the GPU to finish
/// using it. Enlarges it as needed. A buffer that has become too small is kept:
/// cudaFreeHost waits for all kernels, also for a collective that waits for this rank.
/// Sizes are powers of two, so all of them together are less than twice the last.
CudaQueue::Staging& CudaQueue::staging(size_t bytes) {
  if (staging_.empty()) staging_.resize(kBuffers);
  Staging& s = staging_[next_staging_++ % kBuffers];
  if (s.in_use) {
    check(cudaEventSynchronize(s.in_use), "cudaEventSynchronize");
  } else {
    // Host waits on this event spin, as in PyTorch: a blocking wait wakes up later.
    check(cudaEventCreateWithFlags(&s.in_use, cudaEventDisableTiming),
          "cudaEventCreateWithFlags");
  }
  if (s.capacity < bytes) {
    const size_t capacity = std::bit_ceil(std::max(bytes, kSmallest));
    check(cudaHostAlloc(&s.data, capacity, cudaHostAllocDefault), "cudaHostAlloc");
    s.capacity = capacity;
  }
  return s;
}

void CudaQueue::copy_from_host(void* to, const void* from, size_t bytes) {
  for (size_t start = 0; start < bytes; start += kPiece) {
    const size_t length = std::min(kPiece, bytes - start);
    Staging& s = staging(length);
    std::memcpy(s.data, static_cast<const char*>(from) + start, length);
    check(cudaMemcpyAsync(static_cast<char*>(to) + start, s.data, length,
                          cudaMemcpyHostToDevice, stream_),
          "cudaMemcpyAsync to the GPU");
    check(cudaEventRecord(s.in_use, stream_), "cudaEventRecord");
  }
}

void CudaQueue::copy_to_host(void* to, const void* from, size_t bytes) {
  for (size_t start = 0; start < bytes; start += kPiece) {
    const size_t length = std::min(kPiece, bytes - start);
    Staging& s = staging(length);
    check(cudaMemcpyAsync(s.data, static_cast<const char*>(from) + start, length,
                          cudaMemcpyDeviceToHost, stream_),
          "cudaMemcpyAsync from the GPU");
    check(cudaEventRecord(s.in_use, stream_), "cudaEventRecord");
    check(cudaEventSynchronize(s.in_use), "cudaEventSynchronize");
    std::memcpy(static_cast<char*>(to) + start, s.data, length);
  }
  throw_fault();
}

void CudaQueue::throw_fault() {
  volatile Fault* fault = fault_;
  if (!fault->found) return;
  const int64_t label = fault->label;
  fault->found = 0;
  throw std::runtime_error("Target " + std::to_string(label) + " is out of bounds.");
}

CudaGraph::CudaGraph(cudaGraph_t captured) {
  const cudaError_t status = cudaGraphInstantiate(&executable_, captured, 0);
  cudaGraphDestroy(captured);
  check(status, "cudaGraphInstantiate");
}

CudaGraph::~CudaGraph() { cudaGraphExecDestroy(executable_); }

}  // namespace lockstep::cuda
