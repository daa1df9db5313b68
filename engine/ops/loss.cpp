// Cross entropy = log_softmax, then the mean (or sum) of −log p[label]. Label smoothing
// ε makes the target less certain: 1 − ε for the label's class, plus ε / C for every
// class.
#include "engine/ops/checks.h"
#include "engine/ops/op_call.h"
#include "engine/ops/ops.h"

namespace lockstep::ops {

Tensor log_softmax(const Tensor& x, Site site) {
  check_defined("log_softmax", {{"input", x}});
  check(x.dim() == 2, "log_softmax: expected N x C, got {}", x.sizes().str());
  OpCall op("aten::log_softmax", {x}, site);
  Tensor y = compute_one(OpCode::log_softmax, {x}, x.sizes());
  autograd::set_history(
      "LogSoftmaxBackward0", {x}, {y}, op.id(),
      [y = y.detach()](Tensors grads) -> Tensors {
        return {compute_one(OpCode::log_softmax_backward, {grads[0], y}, y.sizes())};
      });
  return y;
}

namespace {

Tensor smooth_nll_loss(const Tensor& log_p, const Tensor& labels, Reduction reduction,
                       double label_smoothing, Site site) {
  check_defined("nll_loss", {{"input", log_p}, {"target", labels}});
  check(log_p.dim() == 2 && labels.dim() == 1 && log_p.size(0) == labels.size(0),
        "Expected input batch_size ({}) to match target batch_size ({}).",
        log_p.size(0), labels.numel());
  OpCall op("aten::nll_loss", {log_p, labels}, site);
  Attributes attributes;
  attributes.mean = reduction == Reduction::mean;
  attributes.eps = label_smoothing;
  Tensor loss = compute_one(OpCode::nll_loss, {log_p, labels}, {}, attributes);
  autograd::set_history("NllLossBackward0", {log_p}, {loss}, op.id(),
                        [=, sizes = log_p.sizes()](Tensors grads) -> Tensors {
                          return {compute_one(OpCode::nll_loss_backward,
                                              {grads[0], labels}, sizes, attributes)};
                        });
  return loss;
}

}  // namespace

Tensor nll_loss(const Tensor& log_p, const Tensor& labels, Reduction reduction,
                Site site) {
  return smooth_nll_loss(log_p, labels, reduction, 0, site);
}

Tensor cross_entropy(const Tensor& logits, const Tensor& labels, Reduction reduction,
                     double label_smoothing, Site site) {
  check(label_smoothing >= 0 && label_smoothing <= 1,
        "label_smoothing must be between 0.0 and 1.0. Got: {}", label_smoothing);
  return smooth_nll_loss(log_softmax(logits, site), labels, reduction, label_smoothing,
                         site);
}

Tensor accuracy(const Tensor& logits, const Tensor& labels, int64_t k, Site site) {
  check_defined("topk", {{"input", logits}, {"target", labels}});
  OpCall op("aten::topk", {logits, labels}, site);
  Attributes attributes;
  attributes.k = std::min<int64_t>(k, logits.size(1));
  return compute_one(OpCode::correct_in_top_k, {logits.detach(), labels}, {},
                     attributes);
}

}  // namespace lockstep::ops
