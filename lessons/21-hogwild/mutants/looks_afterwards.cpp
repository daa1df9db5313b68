// rejected by: store_alone
// because: one load and one store
//
// The misconception: one can look before or after whether somebody was there. Between
// the look and the store somebody may come.

// [solution-store]
const double now = weight.load();
const bool changed = weight.load() != now;
weight.exchange(moved(now, read, next));
return changed;
// [/solution-store]
