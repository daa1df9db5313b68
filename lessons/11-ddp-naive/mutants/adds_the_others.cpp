// rejected by: trains
// because: ranks drift apart
//
// The misconception: the mean is a third of mine and a third of the others'. In real
// numbers it is; in floating-point ones each rank rounds in its own way.

// [solution-average]
const Tensor grad = parameter.grad();
const Tensor mine = grad.defined() ? grad : ops::full_like(parameter, 0);
const Tensor sum = ops::contiguous(ops::scale(mine, 1));
group_.all_reduce(sum, ReduceOp::sum, label(name)).wait();
const Tensor others = ops::add(sum, ops::scale(mine, -1));
const double share = 1.0 / divisor_;
parameter.set_grad(ops::add(ops::scale(mine, share), ops::scale(others, share)));
continue;
// [/solution-average]
