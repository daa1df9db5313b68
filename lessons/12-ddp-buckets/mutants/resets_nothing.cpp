// rejected by: cut_backwards
// because: before_backward must reset what is counted
//
// The misconception: a new reducer begins with nothing, so there is nothing to do.

// [solution-begin]
return;
// [/solution-begin]
