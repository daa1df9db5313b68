// Launches the kernels of Gpu. May be included only by .cu files.
#pragma once

#include <algorithm>

#include "engine/backends/cuda/gpu.h"
#include "engine/backends/cuda/kernels/element.h"
#include "engine/backends/cuda/launch_shape.h"
#include "engine/backends/cuda/status.h"

namespace lockstep::cuda {

template <class F>
__global__ void __launch_bounds__(kThreads) each_kernel(Index n, F f) {
  for (Index i = blockIdx.x * kThreads + threadIdx.x; i < n;
       i += gridDim.x * kThreads) {
    f(i);
  }
}

template <class F>
void Gpu::for_each(Index n, F f) {
  if (n == 0) return;
  each_kernel<<<blocks_for(n), kThreads, 0, CudaQueue::current().stream()>>>(n, f);
  check(cudaGetLastError(), "launch of an elementwise kernel");
}

/// Processes one row per warp.
template <class F>
__global__ void __launch_bounds__(kThreads) rows_kernel(Index rows, F f) {
  constexpr Index kWarps = kThreads / kWarp;
  const Lane lane{threadIdx.x % kWarp, kWarp};
  for (Index row = blockIdx.x * kWarps + threadIdx.x / kWarp; row < rows;
       row += gridDim.x * kWarps) {
    f(row, lane);
  }
}

template <class F>
void Gpu::for_rows(Index rows, F f) {
  if (rows == 0) return;
  const Index blocks = blocks_for_rows(rows);
  rows_kernel<<<blocks, kThreads, 0, CudaQueue::current().stream()>>>(rows, f);
  check(cudaGetLastError(), "launch of a kernel over rows");
}

/// Neighbouring threads process neighbouring columns, then the next row; `together`
/// rows are processed at once, so that each thread stays in its column.
template <class F>
__global__ void __launch_bounds__(kThreads)
    columns_kernel(Index rows, Index columns, Index together, F f) {
  const Index t = blockIdx.x * kThreads + threadIdx.x;
  if (t >= together * columns) return;
  const Index c = t % columns;
  const auto column = f.column(c);
  for (Index row = t / columns; row < rows; row += together) {
    f(column, row * columns + c);
  }
}

template <class F>
void Gpu::for_columns(Index rows, Index columns, F f) {
  if (rows == 0 || columns == 0) return;
  const ColumnsShape shape = columns_shape(rows, columns);
  columns_kernel<<<shape.blocks, kThreads, 0, CudaQueue::current().stream()>>>(
      rows, columns, shape.together, f);
  check(cudaGetLastError(), "launch of a kernel over columns");
}

/// Row t of the grid processes tensor t. Most tensors are small, so each row has only
/// as many blocks as are needed for all rows together to fill a GPU.
template <class F>
__global__ void __launch_bounds__(kThreads) many_kernel(const __grid_constant__ F f) {
  const Index t = blockIdx.y, n = f.size(t);
  for (Index i = blockIdx.x * kThreads + threadIdx.x; i < n;
       i += gridDim.x * kThreads) {
    f(t, i);
  }
}

template <class F>
void Gpu::for_many(const F& f, Index largest) {
  static_assert(sizeof(F) <= 4096, "kernel arguments are limited to 4 KiB");
  if (f.count == 0 || largest == 0) return;
  constexpr Index kMostOfARow = 256;
  const dim3 grid(std::min(blocks_for(largest), kMostOfARow), f.count);
  many_kernel<<<grid, kThreads, 0, CudaQueue::current().stream()>>>(f);
  check(cudaGetLastError(), "launch of a kernel over many tensors");
}

// Column sums. A block processes up to 32 neighbouring columns (for coalesced reads) of
// a chunk of the rows, as many rows at once as its threads allow, and combines their
// partial sums in shared memory. If there are several chunks, their sums are stored in
// scratch (chunk × column) and a second launch combines them. The order is fixed.

/// Combines the sums of a block's rows; row 0 receives the total.
template <class F>
__device__ typename F::Sum join_rows(const F& f, const typename F::Sum& sum) {
  __shared__ typename F::Sum sums[kThreads];
  typename F::Sum& mine = sums[threadIdx.y * blockDim.x + threadIdx.x];
  mine = sum;
  for (Index half = blockDim.y / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.y < half) f.join(mine, *(&mine + half * blockDim.x));
  }
  return mine;
}

template <class F>
__global__ void __launch_bounds__(kThreads)
    sum_kernel(Index rows, Index columns, F f, typename F::Sum* partial) {
  const Index c = blockIdx.x * blockDim.x + threadIdx.x;
  const Index length = (rows + gridDim.y - 1) / gridDim.y;
  const Index begin = blockIdx.y * length;
  const Index end = begin + length < rows ? begin + length : rows;
  typename F::Sum sum{};
  if (c < columns) {
    const auto column = f.column(c);
    for (Index row = begin + threadIdx.y; row < end; row += blockDim.y) {
      f.add(sum, column, row * columns + c);
    }
  }
  sum = join_rows(f, sum);
  if (threadIdx.y > 0 || c >= columns) return;
  if (partial) {
    partial[blockIdx.y * columns + c] = sum;
  } else {
    f.finish(c, sum);
  }
}

template <class F>
__global__ void __launch_bounds__(kThreads)
    finish_kernel(Index chunks, Index columns, F f, const typename F::Sum* partial) {
  const Index c = blockIdx.x * blockDim.x + threadIdx.x;
  typename F::Sum sum{};
  if (c < columns) {
    for (Index chunk = threadIdx.y; chunk < chunks; chunk += blockDim.y) {
      f.join(sum, partial[chunk * columns + c]);
    }
  }
  sum = join_rows(f, sum);
  if (threadIdx.y == 0 && c < columns) f.finish(c, sum);
}

template <class F>
void Gpu::sum_columns(Index rows, Index columns, F f, void* scratch) {
  if (columns == 0) return;
  const auto [lanes, tiles, chunks] = sum_shape(rows, columns);
  const dim3 block(lanes, kThreads / lanes);
  auto* partial = chunks > 1 ? static_cast<typename F::Sum*>(scratch) : nullptr;
  cudaStream_t stream = CudaQueue::current().stream();
  sum_kernel<<<dim3(tiles, chunks), block, 0, stream>>>(rows, columns, f, partial);
  check(cudaGetLastError(), "launch of a column sum");
  if (!partial) return;
  finish_kernel<<<tiles, block, 0, stream>>>(chunks, columns, f,
                                             static_cast<typename F::Sum*>(partial));
  check(cudaGetLastError(), "launch of the final step of a column sum");
}

inline size_t Gpu::scratch_bytes(Index rows, Index columns, size_t size) {
  if (columns == 0) return 0;
  const Index chunks = sum_shape(rows, columns).chunks;
  return chunks > 1 ? size * chunks * columns : 0;
}

}  // namespace lockstep::cuda
