// Counter-based random numbers: Philox4x32-10.
//
// An ordinary generator advances a state, so computing the thousandth number requires
// the 999 before it. Philox scrambles a counter: any number can be computed directly,
// by any thread and in any order, and a few lines of Python can reproduce it. Weights,
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

  /// Returns four 32-bit words. The key words are {low, high} of `key`; the counter
  /// words are {low, high} of `counter`, followed by {low, high} of `stream`.
  std::array<uint32_t, 4> block(uint64_t counter, uint64_t stream) const;

  /// Returns the `i`-th number of a stream, uniformly distributed in the open interval
  /// (0, 1): (word i % 4 of block i / 4, plus one half) · 2^-32.
  double uniform(uint64_t i, uint64_t stream) const;

  /// Returns the `i`-th number of a stream, normally distributed with mean 0 and
  /// variance 1. The Box-Muller transform produces pairs (cosine for even `i`, sine for
  /// odd `i`) from the uniform numbers 2·⌊i/2⌋ and 2·⌊i/2⌋ + 1.
  double normal(uint64_t i, uint64_t stream) const;
};

}  // namespace lockstep
