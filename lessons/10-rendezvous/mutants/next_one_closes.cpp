// rejected by: slow_to_leave
// because: removes the key before
//
// The misconception: the first rank to return may remove the key of the previous round.

// [solution-barrier]
const int64_t arrived = store.add(name + "/arrived", 1);
if (arrived % world_size == 1) store.remove(name + "/open");
if (arrived % world_size == 0) store.set(name + "/open", "");
store.wait({name + "/open"});
return;
// [/solution-barrier]
