// rejected by: store_alone
// because: what was loaded, not
//
// The misconception: whatever has changed since the read is lost. A step that came
// before the load is where this one starts from.

// [solution-store]
const double now = weight.load();
return weight.exchange(moved(now, read, next)) != read;
// [/solution-store]
