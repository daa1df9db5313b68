// rejected by: product_gradient
// because: db of a · b, element
//
// The misconception (a slip): the second input is taken for a factor that is 1.

// [solution-product]
autograd::set_history("MulBackward0", {a, b}, {y}, tracer::kNone,
                      [a = a.detach(), b = b.detach()](Tensors grads) -> Tensors {
                        return {times(grads[0], b), grads[0]};
                      });
return y;
// [/solution-product]
