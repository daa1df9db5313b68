// rejected by: next_batch
// because: counts differ from batch to batch
//
// The misconception: the sum of counts is exchanged in a layer's first step only and
// kept: wrong for another batch size.

// [top]
#include <map>
#include <string>

// [/top]

// [solution-statistics]
thread_local auto& counts = *new std::map<std::string, Tensor>;
const int64_t channels = mine.mean.numel();
const Tensor sum = ops::mul(mine.mean, mine.count);
const Tensor mean_square = ops::add(mine.var, ops::mul(mine.mean, mine.mean));
const Tensor squares = ops::mul(mean_square, mine.count);

Tensor& count = counts[label.tensor];
const bool known = count.defined() && count.device() == mine.count.device();
const Tensor all =
    known ? ops::cat({sum, squares}) : ops::cat({sum, squares, mine.count});
group.all_reduce(all, ReduceOp::sum, label).wait();
if (!known) count = all.narrowed(2 * channels, 1);

const Tensor mean = ops::div(all.narrowed(0, channels), count);
const Tensor var =
    ops::sub(ops::div(all.narrowed(channels, channels), count), ops::mul(mean, mean));
return {mean, var, count};
// [/solution-statistics]
