// rejected by: mean_of_two
// because: Averaging parameters after the step is not equivalent
//
// The misconception: ranks are synchronised by averaging parameters, once the optimizer
// has stepped. Gradients stay each rank's own.

// [solution-average]
const Tensor mean = ops::contiguous(ops::scale(parameter.detach(), 1.0 / divisor_));
group_.all_reduce(mean, ReduceOp::sum, label(name)).wait();
continue;
// [/solution-average]
