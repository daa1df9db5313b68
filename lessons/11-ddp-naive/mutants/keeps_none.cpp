// rejected by: no_gradient
// because: its zero counts
//
// The misconception: zeros are sent so that no rank waits, but a rank that had no
// gradient keeps none.

// [solution-average]
const Tensor grad = parameter.grad();
const Tensor mine = grad.defined() ? grad : ops::full_like(parameter, 0);
const Tensor mean = ops::contiguous(ops::scale(mine, 1.0 / divisor_));
group_.all_reduce(mean, ReduceOp::sum, label(name)).wait();
if (grad.defined()) parameter.set_grad(mean);
continue;
// [/solution-average]
