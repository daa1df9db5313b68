// How Gpu's kernels are launched. Included by the .cu files only.
#pragma once

#include <algorithm>

#include "engine/backends/cuda/gpu.h"
#include "engine/backends/cuda/kernels/lane.h"
#include "engine/backends/cuda/status.h"

namespace lockstep::cuda {

/// Threads of a block, and the most blocks of a launch: enough to fill any GPU; each
/// thread then takes several elements.
inline constexpr unsigned kThreads = 256, kMostBlocks = 4096;

inline unsigned blocks_for(Index n) {
  return std::min<unsigned>((n + kThreads - 1) / kThreads, kMostBlocks);
}

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

/// A warp takes a row.
template <class F>
__global__ void __launch_bounds__(kThreads) rows_kernel(Index rows, F f) {
  constexpr Index kWarp = 32, kWarps = kThreads / kWarp;
  const Lane lane{threadIdx.x % kWarp, kWarp};
  for (Index row = blockIdx.x * kWarps + threadIdx.x / kWarp; row < rows;
       row += gridDim.x * kWarps) {
    f(row, lane);
  }
}

template <class F>
void Gpu::for_rows(Index rows, F f) {
  if (rows == 0) return;
  constexpr Index kWarps = kThreads / 32;
  const unsigned blocks = std::min<unsigned>((rows + kWarps - 1) / kWarps, kMostBlocks);
  rows_kernel<<<blocks, kThreads, 0, CudaQueue::current().stream()>>>(rows, f);
  check(cudaGetLastError(), "launch of a kernel over rows");
}

/// Neighbouring threads take neighbouring columns, then the next row; `together` rows
/// are under way at once, so that each thread stays in its column.
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
  constexpr Index kRowsOfAThread = 4, kBlocksAtOnce = 2048;
  const Index wanted = (rows + kRowsOfAThread - 1) / kRowsOfAThread * columns;
  const Index least = (columns + kThreads - 1) / kThreads;
  const Index blocks =
      std::max(least, std::min((wanted + kThreads - 1) / kThreads, kBlocksAtOnce));
  columns_kernel<<<blocks, kThreads, 0, CudaQueue::current().stream()>>>(
      rows, columns, blocks * kThreads / columns, f);
  check(cudaGetLastError(), "launch of a kernel over columns");
}

/// Row t of the grid takes tensor t. Most tensors are small: their rows have no more
/// blocks than the rest needs to fill a GPU.
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
  static_assert(sizeof(F) <= 4096, "a launch's arguments are limited to 4 KiB");
  if (f.count == 0 || largest == 0) return;
  constexpr unsigned kMostOfARow = 256;
  const dim3 grid(std::min(blocks_for(largest), kMostOfARow), f.count);
  many_kernel<<<grid, kThreads, 0, CudaQueue::current().stream()>>>(f);
  check(cudaGetLastError(), "launch of a kernel over many tensors");
}

// Column sums. A block of 32 × 8 threads takes 32 neighbouring columns, so that memory
// is read in whole lines, and a chunk of the rows; its eight sums of a column are
// joined in shared memory. Where there are several chunks, their sums lie in scratch
// (chunk × column) until a second launch joins these. The order is always the same.

inline constexpr Index kLanes = 32, kRows = 8;

/// Rows are cut so that the first launch has about `kBlocks` blocks.
inline Index chunks_of(Index rows, Index columns) {
  constexpr Index kBlocks = 1024, kLeast = 8 * kRows;
  const Index tiles = (columns + kLanes - 1) / kLanes;
  const Index wanted = std::max<Index>(1, kBlocks / tiles);
  return std::max<Index>(1, std::min(wanted, (rows + kLeast - 1) / kLeast));
}

/// Joins the sums of a block's rows; the whole is returned to row 0.
template <class F>
__device__ typename F::Sum join_rows(const F& f, typename F::Sum sum) {
  __shared__ typename F::Sum sums[kRows][kLanes];
  sums[threadIdx.y][threadIdx.x] = sum;
  for (Index half = kRows / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.y < half) {
      f.join(sums[threadIdx.y][threadIdx.x], sums[threadIdx.y + half][threadIdx.x]);
    }
  }
  return sums[threadIdx.y][threadIdx.x];
}

template <class F>
__global__ void __launch_bounds__(kLanes* kRows)
    sum_kernel(Index rows, Index columns, F f, typename F::Sum* partial) {
  const Index c = blockIdx.x * kLanes + threadIdx.x;
  const Index length = (rows + gridDim.y - 1) / gridDim.y;
  const Index begin = blockIdx.y * length;
  const Index end = begin + length < rows ? begin + length : rows;
  typename F::Sum sum{};
  if (c < columns) {
    for (Index row = begin + threadIdx.y; row < end; row += kRows) f.add(sum, row, c);
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
__global__ void __launch_bounds__(kLanes* kRows)
    finish_kernel(Index chunks, Index columns, F f, const typename F::Sum* partial) {
  const Index c = blockIdx.x * kLanes + threadIdx.x;
  typename F::Sum sum{};
  if (c < columns) {
    for (Index chunk = threadIdx.y; chunk < chunks; chunk += kRows) {
      f.join(sum, partial[chunk * columns + c]);
    }
  }
  sum = join_rows(f, sum);
  if (threadIdx.y == 0 && c < columns) f.finish(c, sum);
}

template <class F>
void Gpu::sum_columns(Index rows, Index columns, F f, void* scratch) {
  if (columns == 0) return;
  const dim3 block(kLanes, kRows);
  const unsigned tiles = (columns + kLanes - 1) / kLanes;
  const Index chunks = chunks_of(rows, columns);
  auto* partial = chunks > 1 ? static_cast<typename F::Sum*>(scratch) : nullptr;
  cudaStream_t stream = CudaQueue::current().stream();
  sum_kernel<<<dim3(tiles, chunks), block, 0, stream>>>(rows, columns, f, partial);
  check(cudaGetLastError(), "launch of a column sum");
  if (!partial) return;
  finish_kernel<<<tiles, block, 0, stream>>>(chunks, columns, f,
                                             static_cast<typename F::Sum*>(partial));
  check(cudaGetLastError(), "launch of a column sum's end");
}

inline size_t Gpu::scratch_bytes(Index rows, Index columns, size_t size) {
  const Index chunks = chunks_of(rows, columns);
  return chunks > 1 ? size * chunks * columns : 0;
}

}  // namespace lockstep::cuda
