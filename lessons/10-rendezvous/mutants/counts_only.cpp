// rejected by: waits_for_all
// because: counting the arrivals is only half
//
// The misconception: to have counted all is to have met them.

// [solution-barrier]
  store.add(name + "/arrived", 1);
  store.wait({name + "/arrived"});
  return;
// [/solution-barrier]
