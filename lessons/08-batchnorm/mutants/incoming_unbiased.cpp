// rejected by: variance
// because: multiply each by its count
//
// The misconception: the variance that comes in is taken for the unbiased one.

// [solution-statistics]
const int64_t channels = mine.mean.numel();
const Tensor sum = ops::mul(mine.mean, mine.count);
const Tensor degrees = ops::sub(mine.count, ops::full_like(mine.count, 1));
const Tensor squares = ops::add(ops::mul(mine.var, degrees), ops::mul(sum, mine.mean));
const Tensor all = ops::cat({sum, squares, mine.count});
group.all_reduce(all, ReduceOp::sum, label).wait();
const Tensor count = all.narrowed(2 * channels, 1);
const Tensor mean = ops::div(all.narrowed(0, channels), count);
return {
    mean,
    ops::sub(ops::div(all.narrowed(channels, channels), count), ops::mul(mean, mean)),
    count};
// [/solution-statistics]
