// rejected by: waits_for_all
// because: asks again and again
//
// The misconception: waiting means asking until the answer is yes.

// [solution-barrier]
const int64_t arrived = store.add(name + "/arrived", 1);
const int64_t all = (arrived + world_size - 1) / world_size * world_size;
while (store.add(name + "/arrived", 0) < all) {
}
return;
// [/solution-barrier]
