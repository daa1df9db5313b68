// rejected by: asks_and_waits
// because: without .wait()
//
// The misconception: backward waits for all collectives in the end anyway.

// [solution-sums]
const int64_t channels = mine.dy.numel();
const Tensor both = ops::cat({mine.dy, mine.dy_xmu});
group.all_reduce(both, ReduceOp::sum, label);
return {both.narrowed(0, channels), both.narrowed(channels, channels)};
// [/solution-sums]
