// Common definitions of the kernels in this folder: C++ that compiles for both GPU and
// host, so the arithmetic can be tested without a GPU.
#pragma once

#include <cstdint>
#include <cstring>

#ifdef __CUDACC__
#define LOCKSTEP_BOTH __host__ __device__
#else
#define LOCKSTEP_BOTH
#endif

namespace lockstep::cuda {

/// Elements are indexed with 32 bits, since 64-bit division is slow on a GPU. Planners
/// reject larger tensors.
using Index = uint32_t;

/// bfloat16: a float without its low 16 bits, rounded to nearest even.
struct Bf16 {
  uint16_t bits = 0;

  Bf16() = default;
  LOCKSTEP_BOTH explicit Bf16(float value) {
    uint32_t word;
    memcpy(&word, &value, sizeof word);
    const bool nan = (word & 0x7fffffffu) > 0x7f800000u;
    bits = nan ? uint16_t(0x7fc0) : uint16_t((word + 0x7fff + (word >> 16 & 1)) >> 16);
  }
  LOCKSTEP_BOTH explicit operator float() const {
    const uint32_t word = uint32_t(bits) << 16;
    float value;
    memcpy(&value, &word, sizeof value);
    return value;
  }
};

/// N neighbouring elements; up to 16 bytes are loaded and stored at once.
template <class T, int N>
struct alignas(N * sizeof(T)) Pack {
  T at[N];
};
template <int N, class T>
LOCKSTEP_BOTH Pack<T, N>* packs(T* first) {
  return reinterpret_cast<Pack<T, N>*>(first);
}
template <int N, class T>
LOCKSTEP_BOTH const Pack<T, N>* packs(const T* first) {
  return reinterpret_cast<const Pack<T, N>*>(first);
}

}  // namespace lockstep::cuda
