// rejected by: waits_for_all
// because: counting the arrivals is only half
//
// The misconception: the last one need not be waited for, since it does not wait
// either.

// [solution-barrier]
const int64_t arrived = store.add(name + "/arrived", 1);
const int64_t round = (arrived - 1) / world_size;
const std::string open = fmt::format("{}/open/{}", name, round);
if (arrived % world_size == world_size - 1) store.set(open, "");
store.wait({open});
return;
// [/solution-barrier]
