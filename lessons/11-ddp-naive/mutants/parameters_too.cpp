// rejected by: in_backward
// because: sends all bytes again for nothing
//
// The misconception: gradients are averaged, and parameters as well, to be on the safe
// side.

// [solution-average]
const Tensor grad = parameter.grad();
const Tensor mine = grad.defined() ? grad : ops::full_like(parameter, 0);
const Tensor mean = ops::contiguous(ops::scale(mine, 1.0 / divisor_));
group_.all_reduce(mean, ReduceOp::sum, label(name)).wait();
parameter.set_grad(mean);
const Tensor copy = ops::contiguous(ops::scale(parameter.detach(), 1.0 / divisor_));
group_.all_reduce(copy, ReduceOp::sum, label(name)).wait();
continue;
// [/solution-average]
