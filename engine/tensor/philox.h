// Counter-based random numbers: Philox4x32-10.
//
// An ordinary generator proceeds from state to state, so the thousandth number requires
// the 999 before it. Philox scrambles a counter: any number can be computed directly,
// by any thread, in any order, and a few lines of Python reproduce it. Weights,
// shuffles, augmentations and golden files all use it.
//
// Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC '11. It is
// also the generator behind torch.cuda.manual_seed.
#pragma once

#include <array>
#include <cstdint>

#include "base/hash.h"

namespace lockstep {

/// A pure function of (key, stream, position); every call is thread-safe. A stream is
/// an integer; `fnv1a64` (base/hash.h) derives one from a name
/// ("layer1.0.conv1.weight").
struct Philox {
  uint64_t key = 0;  ///< the seed

  /// Returns four 32-bit words. Key words are {low, high} of `key`; counter words are
  /// {low, high} of `counter`, then {low, high} of `stream`.
  std::array<uint32_t, 4> block(uint64_t counter, uint64_t stream) const;

  /// Returns number `i` of a stream, uniform in the open interval (0, 1): (word i % 4
  /// of block i / 4, plus one half) · 2^-32.
  double uniform(uint64_t i, uint64_t stream) const;

  /// Returns number `i` of a stream, normally distributed with mean 0 and variance 1.
  /// The Box-Muller transform gives two of them (cosine: even `i`, sine: odd `i`) from
  /// uniform numbers 2·⌊i/2⌋ and 2·⌊i/2⌋ + 1.
  double normal(uint64_t i, uint64_t stream) const;
};

}  // namespace lockstep
