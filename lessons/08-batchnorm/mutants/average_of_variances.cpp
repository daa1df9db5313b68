// rejected by: variance
// because: how far apart the ranks' means are
//
// The misconception: variances may be averaged if they are weighted.

// [solution-statistics]
const int64_t channels = mine.mean.numel();
const Tensor all = ops::cat(
    {ops::mul(mine.mean, mine.count), ops::mul(mine.var, mine.count), mine.count});
group.all_reduce(all, ReduceOp::sum, label).wait();
const Tensor count = all.narrowed(2 * channels, 1);
return {ops::div(all.narrowed(0, channels), count),
        ops::div(all.narrowed(channels, channels), count), count};
// [/solution-statistics]
