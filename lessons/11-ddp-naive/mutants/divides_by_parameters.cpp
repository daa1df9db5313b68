// rejected by: mean_of_two
// because: or by something other than `divisor_`
//
// The misconception: an average over the parameters.

// [solution-average]
const Tensor grad = parameter.grad();
const Tensor mine = grad.defined() ? grad : ops::full_like(parameter, 0);
const Tensor mean =
    ops::contiguous(ops::scale(mine, 1.0 / static_cast<double>(parameters_.size())));
group_.all_reduce(mean, ReduceOp::sum, label(name)).wait();
parameter.set_grad(mean);
continue;
// [/solution-average]
