// rejected by: alone
// because: does not average
//
// The misconception: DDP always averages.

// [solution-forward]
averages_ = true;
return (*module_)(images);
// [/solution-forward]
