// rejected by: in_backward
// because: nothing orders the optimizer after the all-reduce on the stream
//
// The misconception: the host must wait until the sum is there.

// [solution-average]
const Tensor grad = parameter.grad();
const Tensor mine = grad.defined() ? grad : ops::full_like(parameter, 0);
const Tensor mean = ops::contiguous(ops::scale(mine, 1.0 / divisor_));
group_.all_reduce(mean, ReduceOp::sum, label(name));
runtime::context(parameter.device()).synchronize();
parameter.set_grad(mean);
continue;
// [/solution-average]
