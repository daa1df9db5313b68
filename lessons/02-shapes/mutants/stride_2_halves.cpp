// rejected by: strides
// because: where the window begins
//
// The misconception: stride 2 halves the image, whatever the kernel is.

// [solution-places]
const int64_t last = size + 2 * layer.padding - layer.kernel;  // where a window fits
if (layer.stride > 1) return size / layer.stride;
return last < 0 ? 0 : last / layer.stride + 1;
// [/solution-places]
