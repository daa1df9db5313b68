// rejected by: in_backward
// because: a waiting host can enqueue nothing
//
// The misconception: wait() returned at once, so it cannot be enough.

// [solution-average]
const Tensor grad = parameter.grad();
const Tensor mine = grad.defined() ? grad : ops::full_like(parameter, 0);
const Tensor mean = ops::contiguous(ops::scale(mine, 1.0 / divisor_));
const Work work = group_.all_reduce(mean, ReduceOp::sum, label(name));
work.wait();
work.synchronize();
parameter.set_grad(mean);
continue;
// [/solution-average]
