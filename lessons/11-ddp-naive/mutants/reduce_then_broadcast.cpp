// rejected by: in_backward
// because: one all-reduce for each gradient is enough
//
// The misconception: as in DataParallel, rank 0 collects the sum and then broadcasts
// it: two collectives for each parameter.

// [solution-average]
const Tensor grad = parameter.grad();
const Tensor mine = grad.defined() ? grad : ops::full_like(parameter, 0);
const Tensor mean = ops::contiguous(ops::scale(mine, 1.0 / divisor_));
group_.reduce(mean, 0, ReduceOp::sum, label(name)).wait();
group_.broadcast(mean, 0, label(name)).wait();
parameter.set_grad(mean);
continue;
// [/solution-average]

// [solution-shadow]
for (const auto& [name, parameter] : parameters_) {
  const Tensor nothing = ops::full_like(parameter, 0);
  group_.reduce(nothing, 0, ReduceOp::sum, label(name)).wait();
  group_.broadcast(nothing, 0, label(name)).wait();
}
return;
// [/solution-shadow]
