// rejected by: adapter
// because: make 7×7 of it
//
// The misconception of the old VGG: flattening is enough.

// [solution-adapter]
  return ops::flatten(features);
// [/solution-adapter]
