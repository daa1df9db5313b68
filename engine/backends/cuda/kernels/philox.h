// The generator of engine/tensor/philox.h for both compilers; a test compares the two.
#pragma once

#include "engine/backends/cuda/kernels/element.h"

namespace lockstep::cuda {

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
