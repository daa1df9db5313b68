// rejected by: one_message
// because: a layer of C channels sends 2C + 1
//
// The misconception: the message has room for 512 channels, the most that ResNet18 has,
// and is always sent whole.

// [top]
#include "engine/ops/copy.h"

// [/top]

// [solution-sums]
constexpr int64_t kMost = 512;
const int64_t channels = mine.dy.numel();
const Tensor both = Tensor::empty({2 * kMost}, mine.dy.device(), mine.dy.dtype());
ops::copy_into(mine.dy, both.narrowed(0, channels), {"sync_batch_norm"});
ops::copy_into(mine.dy_xmu, both.narrowed(kMost, channels), {"sync_batch_norm"});
group.all_reduce(both, ReduceOp::sum, label).wait();
return {both.narrowed(0, channels), both.narrowed(kMost, channels)};
// [/solution-sums]
