// Plain loops in float and double: the formulas as code. The reference for testing
// other backends, and the fallback if oneDNN is unavailable.
#pragma once

#include "engine/backends/backend.h"

namespace lockstep {

struct ReferenceBackend : Backend {
 protected:
  PlanPtr make_plan(const PlanRequest& request) override;
};

namespace reference {

using Kernel = std::function<void(const KernelArgs&)>;

/// Returns an operation's kernel for element type T; one file per family.
template <typename T>
Kernel convolution(const PlanRequest& request);
template <typename T>
Kernel matrix(const PlanRequest& request);
template <typename T>
Kernel normalization(const PlanRequest& request);
template <typename T>
Kernel shared_normalization(const PlanRequest& request);
template <typename T>
Kernel pooling(const PlanRequest& request);
template <typename T>
Kernel elementwise(const PlanRequest& request);
template <typename T>
Kernel loss(const PlanRequest& request);
template <typename T>
Kernel optimizer(const PlanRequest& request);

/// Returns the plan of an operation on plain tensors, using the loops above.
PlanPtr make_plan(const PlanRequest& request);

/// Calls visit(index) for every element of channel c of an N×C×H×W tensor.
template <typename Visit>
void for_channel(const Shape& s, int64_t c, Visit visit) {
  const int64_t plane = s[2] * s[3];
  for (int64_t n = 0; n < s[0]; ++n) {
    const int64_t start = (n * s[1] + c) * plane;
    for (int64_t i = start; i < start + plane; ++i) visit(i);
  }
}

}  // namespace reference
}  // namespace lockstep
