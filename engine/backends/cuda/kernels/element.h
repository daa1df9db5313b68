// Common definitions of the kernels in this folder: C++ that compiles for both GPU and
// host, so the arithmetic can be tested without a GPU.
#pragma once

#include <cstdint>
#include <cstring>

#ifdef __CUDACC__
#include <cuda_bf16.h>
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
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    bits = __bfloat16_as_ushort(__float2bfloat16_rn(value));  // a single instruction
#else
    uint32_t word;
    memcpy(&word, &value, sizeof word);
    const bool nan = (word & 0x7fffffffu) > 0x7f800000u;
    bits = nan ? uint16_t(0x7fc0) : uint16_t((word + 0x7fff + (word >> 16 & 1)) >> 16);
#endif
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

/// One of the threads that process a row: each processes every `count`-th element
/// starting at `index`; `sum` and `max` combine the values of all lanes in a fixed
/// order and return the result to all lanes. A GPU warp has 32 lanes; the host has one.
struct Lane {
  Index index = 0, count = 1;

  LOCKSTEP_BOTH float sum(float mine) const {
#ifdef __CUDA_ARCH__
    for (int step = 16; step > 0; step /= 2) {
      mine += __shfl_xor_sync(0xffffffffu, mine, step);
    }
#endif
    return mine;
  }
  LOCKSTEP_BOTH float max(float mine) const {
#ifdef __CUDA_ARCH__
    for (int step = 16; step > 0; step /= 2) {
      const float other = __shfl_xor_sync(0xffffffffu, mine, step);
      mine = other > mine ? other : mine;
    }
#endif
    return mine;
  }
};

/// The generator of engine/tensor/philox.h for both compilers; a test compares the two.
struct PhiloxWords {
  uint32_t word[4];
};

LOCKSTEP_BOTH inline PhiloxWords philox(uint64_t key, uint64_t counter,
                                        uint64_t stream) {
  uint32_t c[4] = {uint32_t(counter), uint32_t(counter >> 32), uint32_t(stream),
                   uint32_t(stream >> 32)};
  uint32_t k0 = uint32_t(key), k1 = uint32_t(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53} * c[0];
    const uint64_t p1 = uint64_t{0xCD9E8D57} * c[2];
    const uint32_t c1 = c[1], c3 = c[3];
    c[0] = uint32_t(p1 >> 32) ^ c1 ^ k0;
    c[1] = uint32_t(p1);
    c[2] = uint32_t(p0 >> 32) ^ c3 ^ k1;
    c[3] = uint32_t(p0);
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return {{c[0], c[1], c[2], c[3]}};
}

}  // namespace lockstep::cuda
