#include "engine/ops/flops.h"

namespace lockstep::ops {

int64_t flops_of(const PlanRequest& r) {
  switch (r.code) {
    case OpCode::conv2d:  // each output requires C·kH·kW products
      return 2 * r.out[0].sizes.numel() * r.in[1].sizes.numel() / r.in[1].sizes[0];
    case OpCode::conv2d_backward_data:
      return 2 * r.in[0].sizes.numel() * r.in[1].sizes.numel() / r.in[1].sizes[0];
    case OpCode::conv2d_backward_weight:
      return 2 * r.in[1].sizes.numel() * r.out[0].sizes.numel() / r.out[0].sizes[0];
    case OpCode::linear:
      return 2 * r.in[0].sizes[0] * r.in[1].sizes.numel();
    case OpCode::linear_backward_data:
      return 2 * r.in[0].sizes[0] * r.in[1].sizes.numel();
    case OpCode::linear_backward_weight:
      return 2 * r.in[0].sizes[0] * r.out[0].sizes.numel();
    default:
      return 0;
  }
}

}  // namespace lockstep::ops
