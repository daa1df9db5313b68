// Non-differentiable arithmetic on tensors, for statistics and sums.
#include <cstring>

#include "engine/ops/checks.h"
#include "engine/ops/op_call.h"
#include "engine/ops/ops.h"

namespace lockstep::ops {
namespace {

void check_constant(const char* name, const Tensors& inputs) {
  check(!autograd::needs_history(inputs),
        "{} has no gradient formula; fix: detach() its inputs, or use NoGrad", name);
}

Tensor pairwise(const char* name, OpCode code, const Tensor& a, const Tensor& b,
                const Site& site) {
  check_defined(std::string_view(name).substr(strlen("aten::")),
                {{"input", a}, {"other", b}});
  check(a.sizes() == b.sizes() || b.numel() == 1,
        "The size of tensor a {} must match the size of tensor b {}", a.sizes().str(),
        b.sizes().str());
  check_constant(name, {a, b});
  OpCall op(name, {a, b}, site);
  return compute_one(code, {a, b}, a.sizes());
}

}  // namespace

Tensor sub(const Tensor& a, const Tensor& b, Site site) {
  return pairwise("aten::sub", OpCode::subtract, a, b, site);
}

Tensor mul(const Tensor& a, const Tensor& b, Site site) {
  return pairwise("aten::mul", OpCode::multiply, a, b, site);
}

Tensor div(const Tensor& a, const Tensor& b, Site site) {
  return pairwise("aten::div", OpCode::divide, a, b, site);
}

Tensor cat(const Tensors& tensors, Site site) {
  int64_t numel = 0;
  for (const Tensor& tensor : tensors) {
    if (!tensor.defined()) {
      throw UndefinedTensor(
          fmt::format("expected Tensor as element {} in argument 0, but got NoneType",
                      &tensor - tensors.data()));
    }
    check(tensor.is_plain() && tensor.dtype() == tensors[0].dtype(),
          "cat requires plain tensors of the same type");
    numel += tensor.numel();
  }
  check_constant("aten::cat", tensors);
  OpCall op("aten::cat", tensors, site);
  return compute_one(OpCode::flatten_many, tensors, {numel});
}

}  // namespace lockstep::ops
