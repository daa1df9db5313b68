// rejected by: product_gradient
// because: da of a · b, element
//
// The misconception (a slip): the first input is taken for a factor that is 1.

// [solution-product]
autograd::set_history("MulBackward0", {a, b}, {y}, tracer::kNone,
                      [a = a.detach(), b = b.detach()](Tensors grads) -> Tensors {
                        return {grads[0], times(grads[0], a)};
                      });
return y;
// [/solution-product]
