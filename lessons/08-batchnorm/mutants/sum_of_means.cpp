// rejected by: means_of_equal_parts
// because: only adds up
//
// The misconception (a slip): all_reduce averages.

// [solution-statistics]
const int64_t channels = mine.mean.numel();
const Tensor all = ops::cat({mine.mean, mine.var, mine.count});
group.all_reduce(all, ReduceOp::sum, label).wait();
return {all.narrowed(0, channels), all.narrowed(channels, channels),
        all.narrowed(2 * channels, 1)};
// [/solution-statistics]
