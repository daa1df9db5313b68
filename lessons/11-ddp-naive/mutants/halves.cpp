// rejected by: trains
// because: it worked with two ranks
//
// The misconception: the average of gradients is (a + b) / 2.

// [solution-average]
const Tensor grad = parameter.grad();
const Tensor mine = grad.defined() ? grad : ops::full_like(parameter, 0);
const Tensor mean = ops::contiguous(ops::scale(mine, 0.5));
group_.all_reduce(mean, ReduceOp::sum, label(name)).wait();
parameter.set_grad(mean);
continue;
// [/solution-average]
