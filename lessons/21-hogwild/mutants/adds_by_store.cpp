// rejected by: add_keeps
// because: made again, from the new value
//
// The misconception (of `weight += step` on shared memory): adding is one operation.

// [solution-add]
weight.exchange(moved(weight.load(), read, next));
return;
// [/solution-add]
