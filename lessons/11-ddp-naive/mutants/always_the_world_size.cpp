// rejected by: no_batch
// because: divide by divisor_
//
// The misconception: the divisor is always the number of ranks.

// [solution-average]
const Tensor grad = parameter.grad();
const Tensor mine = grad.defined() ? grad : ops::full_like(parameter, 0);
const Tensor mean = ops::contiguous(ops::scale(mine, 1.0 / group_.size()));
group_.all_reduce(mean, ReduceOp::sum, label(name)).wait();
parameter.set_grad(mean);
continue;
// [/solution-average]
