// rejected by: store_loses
// because: noticed, not repaired
//
// The misconception: a step that notices a loss can make up for it by a second store. In
// between, and after it, somebody else may come.
// [solution-store]
const double now = weight.load();
const double before = weight.exchange(moved(now, read, next));
if (before != now) weight.exchange(moved(before, read, next));
return before != now;
// [/solution-store]
