// rejected by: legacy_trains
// because: stay on the tape
//
// The misconception: changing a shape has nothing to do with gradients.

// [solution-adapter]
return ops::flatten(ops::adaptive_avg_pool2d(features.detach(), 7, 7));
// [/solution-adapter]
