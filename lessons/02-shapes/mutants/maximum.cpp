// rejected by: adapter
// because: average the values
//
// The misconception: all kinds of pooling are the same.

// [solution-adapter]
const int64_t size = features.size(2) / 7;
if (size < 2) return ops::flatten(ops::adaptive_avg_pool2d(features, 7, 7));
return ops::flatten(ops::max_pool2d(features, {size, size, 0}));
// [/solution-adapter]
