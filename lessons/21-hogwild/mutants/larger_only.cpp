// rejected by: store_loses
// because: up or down
//
// The misconception: others only add.
// [solution-store]
const double now = weight.load();
return weight.exchange(moved(now, read, next)) > now;
// [/solution-store]
