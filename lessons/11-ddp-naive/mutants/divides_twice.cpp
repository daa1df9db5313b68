// rejected by: mean_of_two
// because: it was divided twice
//
// The misconception: divide before, so that sums stay small, and after, since it is a
// mean.

// [solution-average]
const Tensor grad = parameter.grad();
const Tensor mine = grad.defined() ? grad : ops::full_like(parameter, 0);
const Tensor mean = ops::contiguous(ops::scale(mine, 1.0 / divisor_));
group_.all_reduce(mean, ReduceOp::sum, label(name)).wait();
parameter.set_grad(ops::scale(mean, 1.0 / divisor_));
continue;
// [/solution-average]
