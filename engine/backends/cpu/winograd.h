// Convolutions of 3×3, stride 1, padding 1 with four times fewer multiplications than
// the definition has. oneDNN has such kernels for AVX-512 only; these need AVX2, which
// every x86 laptop of the last ten years has.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lockstep::cpu {

/// Can this processor run them (AVX2 and FMA)?
bool has_winograd();

/// One convolution's three kernels. Activations lie as N × C/8 × H × W × 8 (oneDNN's
/// nChw8c), weights plain as K × C × 3 × 3; C and K are multiples of 16. The results
/// depend neither on the number of threads (OpenMP's) nor on how a batch is split,
/// but for backward_weight's last bits, which sum over the batch.
class Winograd {
 public:
  Winograd(int64_t n, int64_t c, int64_t k, int64_t h, int64_t w);

  /// Bytes of scratch that each call needs, aligned to 64.
  size_t workspace() const;

  struct Epilogue {
    const float* bias = nullptr;  ///< K, or none
    bool relu = false;
  };
  void forward(const float* x, const float* weight, float* y, Epilogue epilogue,
               float* workspace) const;
  void backward_data(const float* dy, const float* weight, float* dx,
                     float* workspace) const;
  /// `dbias`: K, or null.
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
  int64_t block_;  ///< tiles that are worked on together
};

}  // namespace lockstep::cpu
