// reorder_for_convolutions: one launch in place of one in each conv2d.
#include <utility>

#include "engine/ops/op_call.h"
#include "engine/ops/ops.h"
#include "engine/runtime/device_context.h"

namespace lockstep::ops {
namespace {

/// The number of elements up to which images share the launch, in which a tensor gets
/// as many blocks as a weight needs. Larger ones fill a GPU by themselves, in conv2d.
constexpr int64_t kMostOfImages = 1 << 20;

bool is_to_be_reordered(const Backend& backend, const Tensor& x) {
  return backend.convolution_layout(x.spec()) != x.spec().layout;
}

}  // namespace

Tensor reorder_for_convolutions(const Tensor& images, const Tensors& weights,
                                Site site) {
  // conv2d tells what is wrong with such images.
  if (!images.defined() || images.device().is_host()) return images;
  const Backend& backend = runtime::context(images.device()).backend();
  Tensors in;
  for (const Tensor& weight : weights) {
    if (is_to_be_reordered(backend, weight)) in.push_back(weight);
  }
  const size_t changed = in.size();
  if (changed == 0) return images;
  const bool with_images = images.numel() <= kMostOfImages && images.dim() == 4 &&
                           images.is_plain() && images.dtype() == in[0].dtype() &&
                           !images.requires_grad() &&
                           is_to_be_reordered(backend, images);
  if (with_images) in.push_back(images);

  OpCall op("lockstep::reorder_for_convolutions", in, site);
  std::vector<TensorSpec> out;
  for (const Tensor& x : in) out.push_back({x.sizes(), x.dtype(), nullptr});
  const Tensors copies = compute(OpCode::reorder_many, in, out);
  for (size_t i = 0; i < changed; ++i) {
    in[i].meta().reordered = std::make_shared<Tensor>(copies[i]);
  }
  return with_images ? copies[changed] : images;
}

void forget_reordered(const Tensors& weights) {
  for (const Tensor& weight : weights) weight.meta().reordered.reset();
}

Tensor take_reordered(const Tensor& weight) {
  const AutogradMeta* meta = weight.meta_if_any();
  if (!meta || !meta->reordered) return weight;
  return *std::exchange(weight.meta().reordered, nullptr);
}

}  // namespace lockstep::ops
