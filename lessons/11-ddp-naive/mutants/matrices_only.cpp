// rejected by: mean_of_two
// because: (right: 0.weight, 2.weight)
//
// The misconception: biases are too small to matter.

// [solution-average]
const Tensor grad = parameter.grad();
const Tensor mine = grad.defined() ? grad : ops::full_like(parameter, 0);
if (mine.dim() == 1) continue;
const Tensor mean = ops::contiguous(ops::scale(mine, 1.0 / divisor_));
group_.all_reduce(mean, ReduceOp::sum, label(name)).wait();
parameter.set_grad(mean);
continue;
// [/solution-average]
