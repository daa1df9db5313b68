// rejected by: again
// because: is still there
//
// The misconception: a barrier that has opened is closed again when a rank returns.

// [solution-barrier]
if (store.add(name + "/arrived", 1) % world_size == 0) store.set(name + "/open", "");
store.wait({name + "/open"});
return;
// [/solution-barrier]
