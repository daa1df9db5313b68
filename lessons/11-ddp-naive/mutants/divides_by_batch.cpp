// rejected by: mean_of_two
// because: so it includes the batch size
//
// The misconception: a mean over samples must be divided by the batch size.

// [solution-average]
const Tensor grad = parameter.grad();
const Tensor mine = grad.defined() ? grad : ops::full_like(parameter, 0);
const int batch = 12;
const Tensor mean = ops::contiguous(ops::scale(mine, 1.0 / batch));
group_.all_reduce(mean, ReduceOp::sum, label(name)).wait();
parameter.set_grad(mean);
continue;
// [/solution-average]
