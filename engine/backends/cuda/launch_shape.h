// Launch sizes. This is pure arithmetic, so it can be tested without a GPU.
#pragma once

#include <algorithm>

#include "engine/backends/cuda/kernels/element.h"

namespace lockstep::cuda {

/// Threads per block, and the maximum number of blocks, which is enough to fill any
/// GPU: in larger launches, each thread processes several elements.
inline constexpr Index kThreads = 256, kMostBlocks = 4096;
/// Threads per warp.
inline constexpr Index kWarp = 32;

LOCKSTEP_BOTH constexpr Index divided_up(Index n, Index by) {
  return n / by + (n % by != 0);
}

/// Returns the number of blocks for one thread per element.
constexpr Index blocks_for(Index n) {
  return std::min(divided_up(n, kThreads), kMostBlocks);
}

/// Returns the number of blocks for one warp per row.
constexpr Index blocks_for_rows(Index rows) {
  return std::min(divided_up(rows, kThreads / kWarp), kMostBlocks);
}

/// The compiler limits the registers of kernels over columns so that a multiprocessor
/// can hold this many of their blocks.
inline constexpr Index kLeastBlocks = 3;

/// The maximum number of elements that such a kernel loads before it processes the
/// first, and the number for elements of `bytes` bytes: as many as its registers allow
/// (with more, `ptxas -v` reports hundreds of spilled bytes).
inline constexpr Index kMostAtOnce = 4;
LOCKSTEP_BOTH constexpr Index loads_at_once(size_t bytes) {
  return bytes > 64 ? 1 : bytes > 32 ? 2 : kMostAtOnce;
}

/// A launch in which threads stay in their column; `together` rows run at once.
struct ColumnsShape {
  Index blocks, together;
};
/// REQUIRES: rows > 0, 0 < columns ≤ 2^20 and rows · columns < 2^31.
constexpr ColumnsShape columns_shape(Index rows, Index columns) {
  constexpr Index kMostBlocksOfColumns = 528;  // 4 for each multiprocessor of an H100
  const Index wanted = divided_up(rows, kMostAtOnce) * columns;
  const Index least = divided_up(columns, kThreads);
  const Index blocks =
      std::max(least, std::min(divided_up(wanted, kThreads), kMostBlocksOfColumns));
  return {blocks, blocks * kThreads / columns};
}

/// The launch of a column sum: a block processes `lanes` neighbouring columns and one
/// of `shares` shares of the rows.
struct SumShape {
  Index lanes;  ///< a power of two
  Index tiles;  ///< number of column groups
  Index shares;
};
/// Column groups beyond this number are not shared by several blocks.
inline constexpr Index kMostSharedTiles = 128;
/// REQUIRES: columns > 0.
constexpr SumShape sum_shape(Index rows, Index columns) {
  // Two blocks on each multiprocessor of an H100: enough requests to keep its memory
  // busy. 4 columns of 16 bytes are half a cache line; with more, fewer blocks would
  // have to combine more sums at the end (measured: tests/gpu/RESULTS.md).
  constexpr Index kBlocks = 2 * kMostSharedTiles, kMostLanes = 4;
  SumShape shape{1, 1, 1};
  while (shape.lanes < kMostLanes && shape.lanes < columns) shape.lanes *= 2;
  shape.tiles = divided_up(columns, shape.lanes);
  const Index least = kMostAtOnce * kThreads / shape.lanes;  // minimum rows per share
  shape.shares = std::clamp<Index>(divided_up(rows, least), 1,
                                   std::max<Index>(1, kBlocks / shape.tiles));
  return shape;
}

/// The most rows of columns that one block sums and then processes again, in one
/// launch. Its columns are 32 bytes, a sector of the memory, so this is 128 KiB: about
/// as long as the second launch that it saves. Not measured.
inline constexpr Index kMostRowsOfABlock = 4096;
constexpr bool fit_in_a_block(Index rows) { return rows <= kMostRowsOfABlock; }
/// The number of neighbouring columns, of 16 bytes, of such a block.
inline constexpr Index kLanesOfABlock = 2;

}  // namespace lockstep::cuda
