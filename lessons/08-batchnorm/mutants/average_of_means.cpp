// rejected by: means_of_unequal_parts
// because: weight each mean by its count
//
// The misconception: the mean of the ranks' means is the mean.

// [solution-statistics]
const int64_t channels = mine.mean.numel();
const Tensor all = ops::cat({mine.mean, mine.var, mine.count});
group.all_reduce(all, ReduceOp::sum, label).wait();
const Tensor mean = ops::scale(all.narrowed(0, channels), 1.0 / group.size());
const Tensor var = ops::scale(all.narrowed(channels, channels), 1.0 / group.size());
return {mean, var, all.narrowed(2 * channels, 1)};
// [/solution-statistics]
