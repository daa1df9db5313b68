// 3×3 convolutions with stride 1 and padding 1, with a quarter of the multiplications
// of the direct algorithm. oneDNN has such kernels for AVX-512 only; these require
// AVX2, which nearly all x86 processors of the last ten years support.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lockstep::cpu {

/// Returns true if this processor supports these kernels (AVX2 and FMA).
bool has_winograd();

/// The three kernels of one convolution. Activations are N × C/8 × H × W × 8 (oneDNN's
/// nChw8c); weights are plain K × C × 3 × 3; C and K must be multiples of 16. Results
/// depend neither on the number of OpenMP threads nor on how a batch is split, except
/// for the last bits of backward_weight, which sums over the batch.
class Winograd {
 public:
  Winograd(int64_t n, int64_t c, int64_t k, int64_t h, int64_t w);

  /// Returns the bytes of workspace, aligned to 64, that each call requires.
  size_t workspace() const;

  struct Epilogue {
    const float* bias = nullptr;  ///< K values or null
    bool relu = false;
  };
  void forward(const float* x, const float* weight, float* y, Epilogue epilogue,
               float* workspace) const;
  void backward_data(const float* dy, const float* weight, float* dx,
                     float* workspace) const;
  /// `dbias`: K values or null.
  void backward_weight(const float* x, const float* dy, float* dweight, float* dbias,
                       float* workspace) const;

 private:
  struct Tiles;
  struct Scratch;
  Scratch split(float* workspace, int64_t in, int64_t out) const;
  void sum_over_pixels(const float* dy, float* dbias) const;
  void convolve(const float* x, const float* weight, float* y, bool backward,
                Epilogue epilogue, float* workspace) const;

  int64_t n_, c_, k_, h_, w_;
  int64_t tile_rows_, tile_columns_, tiles_;
  int64_t block_;  ///< tiles processed together
};

}  // namespace lockstep::cpu
