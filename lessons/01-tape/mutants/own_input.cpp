// rejected by: product_gradient
// because: the other input
//
// The misconception: the gradient of an input has that input in it.

// [solution-product]
autograd::set_history("MulBackward0", {a, b}, {y}, tracer::kNone,
                      [a = a.detach(), b = b.detach()](Tensors grads) -> Tensors {
                        return {times(grads[0], a), times(grads[0], b)};
                      });
return y;
// [/solution-product]
