// rejected by: asks_and_waits
// because: without .wait()
//
// The misconception: when the call has returned, the sum is there.

// [solution-statistics]
const int64_t channels = mine.mean.numel();
const Tensor sum = ops::mul(mine.mean, mine.count);
const Tensor mean_square = ops::add(mine.var, ops::mul(mine.mean, mine.mean));
const Tensor squares = ops::mul(mean_square, mine.count);
const Tensor all = ops::cat({sum, squares, mine.count});
group.all_reduce(all, ReduceOp::sum, label);
const Tensor count = all.narrowed(2 * channels, 1);
const Tensor mean = ops::div(all.narrowed(0, channels), count);
const Tensor var =
    ops::sub(ops::div(all.narrowed(channels, channels), count), ops::mul(mean, mean));
return {mean, var, count};
// [/solution-statistics]
