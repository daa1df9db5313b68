// rejected by: one_message
// because: pass `label` to each collective
//
// The misconception: the label is left out as if it were optional, so that the trace
// cannot say whose message it is.

// [solution-statistics]
const int64_t channels = mine.mean.numel();
const Tensor sum = ops::mul(mine.mean, mine.count);
const Tensor mean_square = ops::add(mine.var, ops::mul(mine.mean, mine.mean));
const Tensor squares = ops::mul(mean_square, mine.count);

const Tensor all = ops::cat({sum, squares, mine.count});
(void)label;
group.all_reduce(all).wait();

const Tensor count = all.narrowed(2 * channels, 1);
const Tensor mean = ops::div(all.narrowed(0, channels), count);
const Tensor var =
    ops::sub(ops::div(all.narrowed(channels, channels), count), ops::mul(mean, mean));
return {mean, var, count};
// [/solution-statistics]
