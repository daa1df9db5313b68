// Matrix products by cuBLAS, which is column-major: a row-major c = a b is a
// column-major cᵀ = bᵀ aᵀ, so only the operands are swapped.
// Source: cuBLAS, cublasGemmEx (types: "supported combinations").
#include "engine/backends/cuda/gpu.h"
#include "engine/backends/cuda/status.h"

namespace lockstep::cuda {

GemmRun Gpu::gemm(const Gemm& g) {
  const bool tf32 = backend_options().tf32;
  return [g, tf32](const void* a, const void* b, void* c) {
    if (g.m == 0 || g.n == 0) return;
    const bool dot = g.m * g.n == 1;  // e.g. a sum of squares: keep full precision
    const cudaDataType in = g.bf16_in ? CUDA_R_16BF : CUDA_R_32F;
    const cudaDataType out = g.bf16_out ? CUDA_R_16BF : CUDA_R_32F;
    const cublasComputeType_t compute =
        tf32 && !g.bf16_in && !dot ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
    const auto narrow = [](int64_t size) { return static_cast<int>(size); };
    const auto way = [](bool transpose) {
      return transpose ? CUBLAS_OP_T : CUBLAS_OP_N;
    };
    // Row lengths in memory (leading dimensions).
    const int64_t row_a = g.transpose_a ? g.m : g.k, row_b = g.transpose_b ? g.k : g.n;
    const float one = 1, zero = 0;
    check(cublasGemmEx(CudaQueue::current().cublas(), way(g.transpose_b),
                       way(g.transpose_a), narrow(g.n), narrow(g.m), narrow(g.k), &one,
                       b, in, narrow(row_b), a, in, narrow(row_a), &zero, c, out,
                       narrow(g.n), compute, CUBLAS_GEMM_DEFAULT),
          "cublasGemmEx of " + std::to_string(g.m) + "x" + std::to_string(g.k) +
              " by " + std::to_string(g.k) + "x" + std::to_string(g.n));
  };
}

}  // namespace lockstep::cuda
