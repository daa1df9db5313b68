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

constexpr Index divided_up(Index n, Index by) { return n / by + (n % by != 0); }

/// Returns the number of blocks for one thread per element.
constexpr Index blocks_for(Index n) {
  return std::min(divided_up(n, kThreads), kMostBlocks);
}

/// Returns the number of blocks for one warp per row.
constexpr Index blocks_for_rows(Index rows) {
  return std::min(divided_up(rows, kThreads / kWarp), kMostBlocks);
}

/// A launch in which threads stay in their column; `together` rows run at once.
struct ColumnsShape {
  Index blocks, together;
};
/// REQUIRES: rows > 0, 0 < columns ≤ 2^20 and rows · columns < 2^31.
constexpr ColumnsShape columns_shape(Index rows, Index columns) {
  constexpr Index kRowsOfAThread = 4, kBlocksAtOnce = 2048;
  const Index wanted = divided_up(rows, kRowsOfAThread) * columns;
  const Index least = divided_up(columns, kThreads);
  const Index blocks =
      std::max(least, std::min(divided_up(wanted, kThreads), kBlocksAtOnce));
  return {blocks, blocks * kThreads / columns};
}

/// The launch of a column sum: a block processes `lanes` neighbouring columns and one
/// of `chunks` parts of the rows.
struct SumShape {
  Index lanes;  ///< a power of two, up to 32
  Index tiles;  ///< number of column groups
  Index chunks;
};
/// REQUIRES: columns > 0.
constexpr SumShape sum_shape(Index rows, Index columns) {
  constexpr Index kBlocks = 512;  // approximate number of blocks of a launch
  SumShape shape{1, 1, 1};
  while (shape.lanes < kWarp && shape.lanes < columns) shape.lanes *= 2;
  shape.tiles = divided_up(columns, shape.lanes);
  const Index least = 8 * kThreads / shape.lanes;  // minimum rows per chunk
  shape.chunks = std::clamp<Index>(divided_up(rows, least), 1,
                                   std::max<Index>(1, kBlocks / shape.tiles));
  return shape;
}

}  // namespace lockstep::cuda
