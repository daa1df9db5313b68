// rejected by: waits_for_all
// because: counting the arrivals is only half
//
// The misconception: counting the arrivals is enough.

// [solution-barrier]
store.add(name + "/arrived", 1);
store.wait({name + "/arrived"});
return;
// [/solution-barrier]
