// rejected by: runs_forward
// because: endless recursion
//
// The misconception: forward is called by calling the module. That is the call that is
// being written: it never ends.

// [solution-call]
return module(input);
// [/solution-call]
