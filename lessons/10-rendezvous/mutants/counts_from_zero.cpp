// rejected by: waits_for_all
// because: add returns 1 for the first
//
// The misconception: add returns what was there before.

// [solution-barrier]
const int64_t arrived = store.add(name + "/arrived", 1);
const int64_t round = arrived / world_size;
const std::string open = fmt::format("{}/open/{}", name, round);
if (arrived % world_size == world_size) store.set(open, "");
store.wait({open});
return;
// [/solution-barrier]
