// rejected by: silent_again
// because: every forward pass decides
//
// The misconception: once a pass has averaged, all that follow do.

// [solution-forward]
averages_ = averages_ || sync;
return (*module_)(images);
// [/solution-forward]
