// rejected by: product_gradient
// because: the incoming gradient is a factor
//
// The misconception: a gradient formula is the derivative alone; the engine
// multiplies by the incoming gradient.

// [solution-product]
autograd::set_history("MulBackward0", {a, b}, {y}, tracer::kNone,
                      [a = a.detach(), b = b.detach()](Tensors grads) -> Tensors {
                        return {b, a};
                      });
return y;
// [/solution-product]
