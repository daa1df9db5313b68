// rejected by: averages
// because: every rank has the mean
//
// The misconception: averages_ is set elsewhere.

// [solution-forward]
return (*module_)(images);
// [/solution-forward]
