// normalize_images: from the bytes of images to a model's input.
#include "engine/ops/checks.h"
#include "engine/ops/op_call.h"
#include "engine/ops/ops.h"

namespace lockstep::ops {

Tensor normalize_images(const Tensor& x, const std::array<float, 3>& mean,
                        const std::array<float, 3>& std, DType dtype, Site site) {
  check_defined("normalize_images", {{"input", x}});
  check(x.dtype() == DType::u8 && x.dim() == 4 && x.size(1) == 3,
        "normalize_images expects bytes of images with 3 channels, N x 3 x H x W, but "
        "got {} "
        "of {}",
        name(x.dtype()), x.sizes().str());
  OpCall op("lockstep::normalize_images", {x}, site);
  const Scalars constants{mean[0], mean[1], mean[2], std[0], std[1], std[2]};
  return compute(OpCode::normalize_images, {x}, {{x.sizes(), dtype, nullptr}}, {},
                 constants)[0];
}

}  // namespace lockstep::ops
