// rejected by: variance
// because: unbiased variance (divided by n − 1)
//
// The misconception: running_var is unbiased, so the variance must be.

// [solution-statistics]
const int64_t channels = mine.mean.numel();
const Tensor sum = ops::mul(mine.mean, mine.count);
const Tensor mean_square = ops::add(mine.var, ops::mul(mine.mean, mine.mean));
const Tensor squares = ops::mul(mean_square, mine.count);
const Tensor all = ops::cat({sum, squares, mine.count});
group.all_reduce(all, ReduceOp::sum, label).wait();
const Tensor count = all.narrowed(2 * channels, 1);
const Tensor mean = ops::div(all.narrowed(0, channels), count);
const Tensor biased =
    ops::sub(ops::div(all.narrowed(channels, channels), count), ops::mul(mean, mean));
const Tensor less_one = ops::sub(count, ops::full_like(count, 1));
return {mean, ops::mul(biased, ops::div(count, less_one)), count};
// [/solution-statistics]
