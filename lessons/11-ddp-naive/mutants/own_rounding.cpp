// rejected by: same_bits
// because: a rank's own gradient was combined with the mean
//
// The misconception: takes what the others contributed and adds the own gradient to it:
// right up to rounding, but each rank rounds differently.

// [solution-average]
const Tensor grad = parameter.grad();
const Tensor mine = grad.defined() ? grad : ops::full_like(parameter, 0);
const Tensor mean = ops::contiguous(ops::scale(mine, 1.0 / divisor_));
group_.all_reduce(mean, ReduceOp::sum, label(name)).wait();
const Tensor own = ops::contiguous(ops::scale(mine, 1.0 / divisor_));
parameter.set_grad(ops::add(own, ops::sub(mean, own)));
continue;
// [/solution-average]
