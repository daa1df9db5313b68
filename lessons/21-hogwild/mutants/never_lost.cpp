// rejected by: store_loses
// because: what it overwrites
//
// The misconception (pytorch#8149): a float is written as a whole, so nothing is lost.

// [solution-store]
const double now = weight.load();
weight.exchange(moved(now, read, next));
return false;
// [/solution-store]
