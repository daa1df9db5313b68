// rejected by: backward_sums
// because: not divided by anything
//
// The misconception: DDP averages gradients, so these are averaged, too.

// [solution-sums]
const int64_t channels = mine.dy.numel();
const Tensor both = ops::cat({mine.dy, mine.dy_xmu});
group.all_reduce(both, ReduceOp::sum, label).wait();
const Tensor mean = ops::scale(both, 1.0 / group.size());
return {mean.narrowed(0, channels), mean.narrowed(channels, channels)};
// [/solution-sums]
