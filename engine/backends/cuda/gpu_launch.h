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

/// Calls use(f.load(i), i) for i = first, first + step, …, `count` times. Several loads
/// are under way at once.
template <class F, class Use>
__device__ void load_each(const F& f, Index first, Index step, Index count, Use use) {
  using Loaded = decltype(f.load(0));
  constexpr Index kAtOnce = loads_at_once(sizeof(Loaded));
  Index i = first;
  for (; count >= kAtOnce; count -= kAtOnce) {
    Loaded loaded[kAtOnce];
#pragma unroll
    for (Index u = 0; u < kAtOnce; ++u) loaded[u] = f.load(i + u * step);
#pragma unroll
    for (Index u = 0; u < kAtOnce; ++u) use(loaded[u], i + u * step);
    i += kAtOnce * step;
  }
  for (; count > 0; --count, i += step) use(f.load(i), i);
}

/// Neighbouring threads process neighbouring columns, then the next row; `together`
/// rows are processed at once, so that each thread stays in its column. The last rows
/// come first: the launch before has usually read the same tensor from the first row to
/// the last, so the last ones are still in the L2 cache.
template <class F>
__global__ void __launch_bounds__(kThreads, kLeastBlocks)
    columns_kernel(Index rows, Index columns, Index together, F f) {
  const Index t = blockIdx.x * kThreads + threadIdx.x, nth = t / columns;
  if (nth >= together || nth >= rows) return;
  const auto column = f.column(t % columns);
  const Index last = (rows - 1 - nth) * columns + t % columns;
  load_each(f, last, 0 - together * columns, divided_up(rows - nth, together),
            [&](const auto& loaded, Index i) { f(column, loaded, i); });
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

// Column sums. A block processes a few neighbouring columns of a share of the rows, as
// many rows at once as its threads allow, and combines their partial sums in shared
// memory. If several blocks share the rows, their sums are stored in scratch (block ×
// column), and the last block of these columns to arrive combines them. The order of
// summation does not depend on which block that is.
// Source: CUDA samples, threadFenceReduction.

/// The sums of a block's threads in shared memory. Equal words of neighbouring threads
/// are neighbours, so that a warp's accesses are to different banks.
template <class Sum>
struct SharedSums {
  static constexpr Index kWords = sizeof(Sum) / sizeof(float);
  float words[kWords][kThreads];

  __device__ void put(Index thread, const Sum& sum) {
    const auto* from = reinterpret_cast<const float*>(&sum);
#pragma unroll
    for (Index w = 0; w < kWords; ++w) words[w][thread] = from[w];
  }
  __device__ Sum get(Index thread) const {
    Sum sum;
    auto* to = reinterpret_cast<float*>(&sum);
#pragma unroll
    for (Index w = 0; w < kWords; ++w) to[w] = words[w][thread];
    return sum;
  }
};

/// Combines the sums of a block's rows; row 0 receives the total.
template <class F>
__device__ typename F::Sum join_rows(const F& f, typename F::Sum sum) {
  __shared__ SharedSums<typename F::Sum> sums;
  const Index mine = threadIdx.y * blockDim.x + threadIdx.x;
  sums.put(mine, sum);
  for (Index half = blockDim.y / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.y >= half) continue;
    f.join(sum, sums.get(mine + half * blockDim.x));
    if (half > 1) sums.put(mine, sum);
  }
  return sum;
}

/// Returns true in the last of `blocks` blocks that call this with the same ticket, to
/// all of its threads. That block sees what the others wrote before. The ticket, which
/// starts at 0, is 0 again afterwards.
__device__ inline bool is_last_block(unsigned* ticket, Index blocks) {
  __shared__ bool last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0 && threadIdx.y == 0) {
    last = atomicInc(ticket, blocks - 1) == blocks - 1;
  }
  __syncthreads();
  if (last) __threadfence();
  return last;
}

template <class F>
__global__ void __launch_bounds__(kThreads, kLeastBlocks)
    sum_kernel(Index rows, Index columns, F f, typename F::Sum* partial,
               unsigned* tickets) {
  const Index c = blockIdx.x * blockDim.x + threadIdx.x;
  const Index together = gridDim.y * blockDim.y;
  const Index first = blockIdx.y * blockDim.y + threadIdx.y;
  typename F::Sum sum{};
  if (c < columns) {
    const auto column = f.column(c);
    if (first < rows) {
      load_each(f, first * columns + c, together * columns,
                divided_up(rows - first, together),
                [&](const auto& loaded, Index i) { f.add(sum, column, loaded, i); });
    }
  }
  sum = join_rows(f, sum);
  if (partial) {
    if (threadIdx.y == 0 && c < columns) partial[blockIdx.y * columns + c] = sum;
    if (!is_last_block(&tickets[blockIdx.x], gridDim.y)) return;
    sum = {};
    if (c < columns) {
#pragma unroll 4
      for (Index share = threadIdx.y; share < gridDim.y; share += blockDim.y) {
        f.join(sum, partial[share * columns + c]);
      }
    }
    sum = join_rows(f, sum);
  }
  if (threadIdx.y == 0 && c < columns) f.finish(c, sum);
}

template <class F>
void Gpu::sum_columns(Index rows, Index columns, F f, void* scratch) {
  if (columns == 0) return;
  const auto [lanes, tiles, shares] = sum_shape(rows, columns);
  const dim3 block(lanes, kThreads / lanes);
  auto* partial = shares > 1 ? static_cast<typename F::Sum*>(scratch) : nullptr;
  CudaQueue& queue = CudaQueue::current();
  sum_kernel<<<dim3(tiles, shares), block, 0, queue.stream()>>>(
      rows, columns, f, partial, queue.tickets());
  check(cudaGetLastError(), "launch of a column sum");
}

/// A column sum by one block for each group of columns, which then processes their rows
/// with the totals.
template <class S, class F>
__global__ void __launch_bounds__(kThreads, kLeastBlocks)
    sum_then_kernel(Index rows, Index columns, S s, F f) {
  const Index c = blockIdx.x * blockDim.x + threadIdx.x;
  const bool has_rows = c < columns && threadIdx.y < rows;
  const Index first = threadIdx.y * columns + c, step = blockDim.y * columns;
  const Index count = has_rows ? divided_up(rows - threadIdx.y, blockDim.y) : 0;
  typename S::Sum sum{};
  if (has_rows) {
    const auto column = s.column(c);
    load_each(s, first, step, count,
              [&](const auto& loaded, Index i) { s.add(sum, column, loaded, i); });
  }
  sum = join_rows(s, sum);
  if (threadIdx.y == 0 && c < columns) s.finish(c, sum);
  __syncthreads();
  if (!has_rows) return;
  const auto column = f.column(c);
  load_each(f, first, step, count,
            [&](const auto& loaded, Index i) { f(column, loaded, i); });
}

template <class S, class F>
void Gpu::sum_then_columns(Index rows, Index columns, S s, F f) {
  if (rows == 0 || columns == 0) return;
  const dim3 block(kLanesOfABlock, kThreads / kLanesOfABlock);
  sum_then_kernel<<<divided_up(columns, kLanesOfABlock), block, 0,
                    CudaQueue::current().stream()>>>(rows, columns, s, f);
  check(cudaGetLastError(), "launch of a column sum and its use");
}

inline size_t Gpu::scratch_bytes(Index rows, Index columns, size_t size) {
  if (columns == 0) return 0;
  const Index shares = sum_shape(rows, columns).shares;
  return shares > 1 ? size * shares * columns : 0;
}

}  // namespace lockstep::cuda
