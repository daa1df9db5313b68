// rejected by: any_order
// because: matched with a different parameter on another rank
//
// The misconception: reduce each gradient in its hook, as soon as it is there. That
// even overlaps with backward, as long as backward has the same order everywhere.

// [solution-ready]
const Tensor mean = ops::contiguous(ops::scale(tensor.grad(), 1.0 / divisor_));
group_.all_reduce(mean, ReduceOp::sum, label(name)).wait();
tensor.set_grad(mean);
// [/solution-ready]
// [solution-average]
continue;
// [/solution-average]
