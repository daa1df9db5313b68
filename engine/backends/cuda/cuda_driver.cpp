#include "engine/backends/cuda/queue.h"

#include <cstdio>
#include <mutex>
#include <set>

#include "engine/backends/cuda/gpu.h"
#include "engine/backends/cuda/gpus.h"
#include "engine/backends/cuda/status.h"
#include "engine/runtime/pinned_memory.h"

namespace lockstep::cuda {
namespace {

/// Returns true if kernels on `gpu` can read the memory of `other`.
bool reads_memory_of(int gpu, int other) {
  int can = gpu == other;
  if (!can) {
    check(cudaDeviceCanAccessPeer(&can, gpu, other), "cudaDeviceCanAccessPeer");
  }
  return can;
}

/// Allows `gpu` to read the memory of `other`, if the machine supports it.
void enable_peer(int gpu, int other) {
  if (!reads_memory_of(gpu, other)) return;
  const GpuScope scope(gpu);
  const cudaError_t status = cudaDeviceEnablePeerAccess(other, 0);
  if (status == cudaErrorPeerAccessAlreadyEnabled) {
    cudaGetLastError();  // clear the error, which is expected
  } else {
    check(status, "cudaDeviceEnablePeerAccess");
  }
}

/// Enables peer access between the GPUs of this process's devices where the machine
/// supports it. Otherwise cudaMemcpyPeerAsync stages through main memory.
void enable_peers(int gpu) {
  static std::mutex mutex;
  static auto* const used = new std::set<int>;
  std::lock_guard lock(mutex);
  if (used->contains(gpu)) return;
  for (const int other : *used) {
    enable_peer(gpu, other);
    enable_peer(other, gpu);
  }
  used->insert(gpu);
}

}  // namespace

void* CudaDriver::allocate(Device device, size_t bytes) {
  const GpuScope scope(gpu_of(device));
  void* data = nullptr;
  const cudaError_t status = cudaMalloc(&data, bytes);
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();  // clear the error, which the allocator handles
    return nullptr;
  }
  check(status, "cudaMalloc");
  return data;
}

void CudaDriver::free(Device device, void* data) noexcept {
  try {
    const GpuScope scope(gpu_of(device));
    cudaFree(data);
  } catch (const std::exception&) {
    // At process exit, CUDA may already be shut down.
  }
}

std::unique_ptr<runtime::Queue> CudaDriver::make_queue(Device device) {
  enable_peers(gpu_of(device));
  use_for_planning(gpu_of(device));
  return std::make_unique<CudaQueue>(device);
}

runtime::Queue& CudaDriver::current_queue() { return CudaQueue::current(); }

void CudaDriver::copy(void* to, Device to_device, const void* from, Device from_device,
                      size_t bytes) {
  if (bytes == 0) return;
  CudaQueue& queue = CudaQueue::current();
  if (from_device.is_host()) return queue.copy_from_host(to, from, bytes);
  if (to_device.is_host()) return queue.copy_to_host(to, from, bytes);
  const int to_gpu = gpu_of(to_device), from_gpu = gpu_of(from_device);
  if (to_gpu == from_gpu) {
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, queue.stream()),
          "cudaMemcpyAsync on the GPU");
  } else {
    check(cudaMemcpyPeerAsync(to, to_gpu, from, from_gpu, bytes, queue.stream()),
          "cudaMemcpyPeerAsync");
  }
}

void CudaDriver::reduce(void* into, Device into_device, const void* from,
                        Device from_device, int64_t numel, DType dtype, ReduceOp op) {
  cudaStream_t stream = CudaQueue::current().stream();
  const int gpu = gpu_of(into_device), from_gpu = gpu_of(from_device);
  if (reads_memory_of(gpu, from_gpu)) {
    return reduce_elements<Gpu>(into, from, numel, dtype, op);
  }
  const size_t bytes = numel * item_size(dtype);
  void* here = nullptr;
  check(cudaMallocAsync(&here, bytes, stream), "cudaMallocAsync");
  check(cudaMemcpyPeerAsync(here, gpu, from, from_gpu, bytes, stream),
        "cudaMemcpyPeerAsync");
  reduce_elements<Gpu>(into, here, numel, dtype, op);
  check(cudaFreeAsync(here, stream), "cudaFreeAsync");
}

runtime::PinnedMemory* CudaDriver::pinned_memory() {
  static auto* const memory = new runtime::PinnedMemory([](size_t bytes) -> void* {
    const GpuScope scope(planning_gpu());
    void* data = nullptr;
    const cudaError_t status = cudaHostAlloc(&data, bytes, cudaHostAllocPortable);
    if (status != cudaErrorMemoryAllocation) {
      check(status, "cudaHostAlloc");
      return data;
    }
    cudaGetLastError();  // clear the error: ordinary memory works, too
    std::fprintf(
        stderr,
        "lockstep: warning: %zu MiB could not be page-locked, so that further "
        "batches are copied through a buffer; fix: use fewer workers (-j) or a "
        "smaller batch (-b)\n",
        bytes >> 20);
    return nullptr;
  });
  return memory;
}

void CudaDriver::copy_pinned(void* to, Device /*to_device*/, const void* from,
                             size_t bytes) {
  if (bytes == 0) return;
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice,
                        CudaQueue::current().stream()),
        "cudaMemcpyAsync from pinned memory");
}

}  // namespace lockstep::cuda
