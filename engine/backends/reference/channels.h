// Iteration over the elements of one channel.
#pragma once

#include <cstdint>

#include "engine/tensor/shape.h"

namespace lockstep::reference {

/// Calls visit(index) for every element of channel c of an N×C×H×W tensor.
template <typename Visit>
void for_channel(const Shape& s, int64_t c, Visit visit) {
  const int64_t plane = s[2] * s[3];
  for (int64_t n = 0; n < s[0]; ++n) {
    const int64_t start = (n * s[1] + c) * plane;
    for (int64_t i = start; i < start + plane; ++i) visit(i);
  }
}

}  // namespace lockstep::reference
