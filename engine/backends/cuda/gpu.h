// The Machine (machine.h) for a GPU: kernels are enqueued on the calling worker's queue
// and run asynchronously.
#pragma once

#include "engine/backends/cuda/machine.h"
#include "engine/backends/cuda/queue.h"

namespace lockstep::cuda {

struct Gpu {
  template <class F>
  static void for_each(Index n, F f);
  template <class F>
  static void for_rows(Index rows, F f);
  template <class F>
  static void for_columns(Index rows, Index columns, F f);
  template <class F>
  static void for_many(const F& f, Index largest);
  template <class F>
  static void sum_columns(Index rows, Index columns, F f, void* scratch);
  template <class S, class F>
  static void sum_then_columns(Index rows, Index columns, S s, F f);
  static size_t scratch_bytes(Index rows, Index columns, size_t size);
  static Fault* fault() { return CudaQueue::current().fault(); }

  static ConvolutionPlan convolution(const Convolution& problem);  // convolution.cpp
  static GemmRun gemm(const Gemm& problem);                        // gemm.cpp
};

}  // namespace lockstep::cuda
