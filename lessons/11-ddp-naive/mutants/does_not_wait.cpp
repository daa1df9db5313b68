// rejected by: in_backward
// because: the optimizer reads a gradient while its sum is still arriving
//
// The misconception: when all_reduce returns, the sum is there.

// [solution-average]
const Tensor grad = parameter.grad();
const Tensor mine = grad.defined() ? grad : ops::full_like(parameter, 0);
const Tensor mean = ops::contiguous(ops::scale(mine, 1.0 / divisor_));
group_.all_reduce(mean, ReduceOp::sum, label(name));
parameter.set_grad(mean);
continue;
// [/solution-average]
