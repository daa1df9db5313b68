// rejected by: one_message
// because: stop the host in every layer
//
// The misconception: the count is fetched to the host as a number to divide by: the
// host waits in every layer.

// [top]
#include "engine/ops/copy.h"

// [/top]

// [solution-statistics]
const int64_t channels = mine.mean.numel();
const Tensor sum = ops::mul(mine.mean, mine.count);
const Tensor mean_square = ops::add(mine.var, ops::mul(mine.mean, mine.mean));
const Tensor squares = ops::mul(mean_square, mine.count);

const Tensor all = ops::cat({sum, squares, mine.count});
group.all_reduce(all, ReduceOp::sum, label).wait();

const Tensor count = all.narrowed(2 * channels, 1);
const double n = ops::item(count);
const Tensor mean = ops::scale(all.narrowed(0, channels), 1 / n);
const Tensor var =
    ops::sub(ops::scale(all.narrowed(channels, channels), 1 / n), ops::mul(mean, mean));
return {mean, var, count};
// [/solution-statistics]
