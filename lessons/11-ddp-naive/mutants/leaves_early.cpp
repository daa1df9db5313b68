// rejected by: no_batch
// because: must make all calls of after_backward
//
// The misconception: a rank without a batch has nothing to do.

// [solution-shadow]
return;
// [/solution-shadow]
