// rejected by: strides
// because: round down
//
// The misconception: the rest of the row gets a window of its own.

// [solution-places]
const int64_t last = size + 2 * layer.padding - layer.kernel;  // where a window fits
return last < 0 ? 0 : (last + layer.stride - 1) / layer.stride + 1;
// [/solution-places]
