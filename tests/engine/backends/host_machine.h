// The CUDA backend's kernels on the host: an implementation of
// engine/backends/cuda/machine.h without a GPU. All code above CUDA's own libraries is
// the code that a GPU runs.
#pragma once

#include <atomic>
#include <cstdlib>
#include <vector>

#include "engine/backends/cuda/kernels/loss.h"
#include "engine/backends/cuda/machine.h"

namespace lockstep::test {

struct HostMachine {
  /// Returns how many kernels and library calls have been launched in this process.
  static int64_t launches() { return launches_; }
  /// If false, launches are counted and compute nothing, so that those of large nets
  /// can be counted in no time.
  static void set_computes(bool on) { computes_ = on; }
  static constexpr size_t kWorkspace = 64;  ///< bytes of a convolution's
  /// Sets that of convolutions with a fused ReLU. They overwrite it.
  static void set_fused_workspace(size_t bytes) { fused_workspace_ = bytes; }

  template <class F>
  static void for_each(cuda::Index n, F f) {
    if (!launch()) return;
    for (cuda::Index i = 0; i < n; ++i) f(i);
  }
  template <class F>
  static void for_rows(cuda::Index rows, F f) {
    if (!launch()) return;
    for (cuda::Index row = 0; row < rows; ++row) f(row, cuda::Lane());
  }
  template <class F>
  static void for_columns(cuda::Index rows, cuda::Index columns, F f) {
    if (!launch()) return;
    for (cuda::Index c = 0; c < columns; ++c) use_column(rows, columns, c, f);
  }
  template <class F>
  static void for_many(const F& f, cuda::Index) {
    if (!launch()) return;
    for (cuda::Index t = 0; t < f.count; ++t) {
      for (cuda::Index i = 0; i < f.size(t); ++i) f(t, i);
    }
  }

  template <class F>
  static void sum_columns(cuda::Index rows, cuda::Index columns, F f, void* scratch) {
    if (!launch()) return;
    auto* sums = static_cast<typename F::Sum*>(scratch);
    for (cuda::Index c = 0; c < columns; ++c) sums[c] = total(rows, columns, c, f);
    for (cuda::Index c = 0; c < columns; ++c) f.finish(c, sums[c]);
  }
  /// Like the blocks of a GPU, which need not wait for each other: a column is summed
  /// and used before the next one is read.
  template <class S, class F>
  static void sum_then_columns(cuda::Index rows, cuda::Index columns, S s, F f) {
    if (!launch()) return;
    for (cuda::Index c = 0; c < columns; ++c) {
      s.finish(c, total(rows, columns, c, s));
      use_column(rows, columns, c, f);
    }
  }
  static size_t scratch_bytes(cuda::Index, cuda::Index columns, size_t size) {
    return columns * size;
  }
  static cuda::Fault* fault() {
    static cuda::Fault instance;
    return &instance;
  }

  static cuda::ConvolutionPlan convolution(const cuda::Convolution& c);
  static cuda::GemmRun gemm(const cuda::Gemm& g);

 private:
  /// Sums a column in chunks, like the GPU, so that `join` is used.
  template <class F>
  static typename F::Sum total(cuda::Index rows, cuda::Index columns, cuda::Index c,
                               F f) {
    const auto column = f.column(c);
    typename F::Sum whole{};
    for (cuda::Index start = 0; start < rows; start += kChunk) {
      typename F::Sum sum{};
      for (cuda::Index row = start; row < rows && row < start + kChunk; ++row) {
        const cuda::Index i = row * columns + c;
        f.add(sum, column, f.load(i), i);
      }
      f.join(whole, sum);
    }
    return whole;
  }
  template <class F>
  static void use_column(cuda::Index rows, cuda::Index columns, cuda::Index c, F f) {
    const auto column = f.column(c);
    for (cuda::Index row = 0; row < rows; ++row) {
      const cuda::Index i = row * columns + c;
      f(column, f.load(i), i);
    }
  }

  static constexpr cuda::Index kChunk = 7;
  /// Counts a launch. Returns true if it is to compute.
  static bool launch() {
    ++launches_;
    return computes_;
  }

  static inline std::atomic<int64_t> launches_{0};
  static inline std::atomic<bool> computes_{true};
  static inline std::atomic<size_t> fused_workspace_{kWorkspace};
};

}  // namespace lockstep::test
