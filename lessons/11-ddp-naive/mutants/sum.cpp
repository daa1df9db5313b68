// rejected by: mean_of_two
// because: this is the sum over ranks
//
// The misconception: all-reduce averages.

// [solution-average]
const Tensor grad = parameter.grad();
const Tensor mine = grad.defined() ? grad : ops::full_like(parameter, 0);
const Tensor sum = ops::contiguous(ops::scale(mine, 1));
group_.all_reduce(sum, ReduceOp::sum, label(name)).wait();
parameter.set_grad(sum);
continue;
// [/solution-average]
