// rejected by: stride_1
// because: the first place counts
//
// The misconception (fence posts): as many places as steps.

// [solution-places]
const int64_t last = size + 2 * layer.padding - layer.kernel;  // where a window fits
return last < 0 ? 0 : last / layer.stride;
// [/solution-places]
