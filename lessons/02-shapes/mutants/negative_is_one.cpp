// rejected by: too_large
// because: no place at all
//
// The misconception: -1 / 2 is -1, so that the formula yields 0 by itself.

// [solution-places]
const int64_t last = size + 2 * layer.padding - layer.kernel;  // where a window fits
return last / layer.stride + 1;
// [/solution-places]
