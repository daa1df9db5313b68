// rejected by: stride_1
// because: added at both ends
//
// The misconception: padding is a detail.

// [solution-places]
const int64_t last = size - layer.kernel;  // where a window fits
return last < 0 ? 0 : last / layer.stride + 1;
// [/solution-places]
