// rejected by: one_message
// because: stop the host in every layer
//
// The misconception: a barrier before the collective, so that all ranks are there: the
// host blocks, and more messages.

// [solution-statistics]
const int64_t channels = mine.mean.numel();
const Tensor sum = ops::mul(mine.mean, mine.count);
const Tensor mean_square = ops::add(mine.var, ops::mul(mine.mean, mine.mean));
const Tensor squares = ops::mul(mean_square, mine.count);

const Tensor all = ops::cat({sum, squares, mine.count});
group.barrier(all.device());
group.all_reduce(all, ReduceOp::sum, label).wait();

const Tensor count = all.narrowed(2 * channels, 1);
const Tensor mean = ops::div(all.narrowed(0, channels), count);
const Tensor var =
    ops::sub(ops::div(all.narrowed(channels, channels), count), ops::mul(mean, mean));
return {mean, var, count};
// [/solution-statistics]
