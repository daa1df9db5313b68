// rejected by: no_gradient
// because: skipped the call
//
// The misconception: a parameter without a gradient has nothing to reduce.

// [solution-average]
if (!parameter.grad().defined()) continue;
const Tensor mean = ops::contiguous(ops::scale(parameter.grad(), 1.0 / divisor_));
group_.all_reduce(mean, ReduceOp::sum, label(name)).wait();
parameter.set_grad(mean);
continue;
// [/solution-average]
