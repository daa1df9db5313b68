// rejected by: adapter
// because: pool them to 7×7
//
// The misconception of the old VGG: flattening is enough.

// [solution-adapter]
return ops::flatten(features);
// [/solution-adapter]
