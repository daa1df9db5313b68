// rejected by: mean_of_two
// because: wait(), then scale
//
// The misconception: all_reduce has returned, so the sum is there.

// [solution-average]
const Tensor grad = parameter.grad();
const Tensor sum =
    grad.defined() ? ops::contiguous(grad) : ops::full_like(parameter, 0);
const Work work = group_.all_reduce(sum, ReduceOp::sum, label(name));
parameter.set_grad(ops::scale(sum, 1.0 / divisor_));
work.wait();
continue;
// [/solution-average]
