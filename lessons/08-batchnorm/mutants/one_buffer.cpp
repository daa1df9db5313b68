// rejected by: next_batch
// because: a later call overwrote it
//
// The misconception: results are written to one buffer for each number of channels,
// reused by the next such layer, though backward still needs the first one's.

// [top]
#include <map>
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
const Tensor mean = ops::div(all.narrowed(0, channels), count);
const Tensor var =
    ops::sub(ops::div(all.narrowed(channels, channels), count), ops::mul(mean, mean));
thread_local auto& buffers = *new std::map<int64_t, Tensor>;
Tensor& buffer = buffers[channels];
if (!buffer.defined() || buffer.device() != all.device() ||
    buffer.dtype() != all.dtype()) {
  buffer = Tensor::empty({2 * channels + 1}, all.device(), all.dtype());
}
ops::copy_into(ops::cat({mean, var, count}), buffer, {"sync_batch_norm"});
return {buffer.narrowed(0, channels), buffer.narrowed(channels, channels),
        buffer.narrowed(2 * channels, 1)};
// [/solution-statistics]
