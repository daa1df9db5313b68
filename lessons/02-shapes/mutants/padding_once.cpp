// rejected by: stride_1
// because: added at both ends
//
// The misconception: padding 1 makes the row one cell longer.

// [solution-places]
const int64_t last = size + layer.padding - layer.kernel;  // where a window fits
return last < 0 ? 0 : last / layer.stride + 1;
// [/solution-places]
