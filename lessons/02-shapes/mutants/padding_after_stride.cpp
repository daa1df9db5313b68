// rejected by: strides
// because: into the padded row
//
// The misconception: padding is added to what comes out.

// [solution-places]
if (size + 2 * layer.padding < layer.kernel) return 0;
return (size - layer.kernel) / layer.stride + 2 * layer.padding + 1;
// [/solution-places]
