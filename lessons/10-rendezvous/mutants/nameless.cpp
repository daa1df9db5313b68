// rejected by: names_apart
// because: the name must be part
//
// The misconception: there is one barrier.

// [solution-barrier]
const int64_t arrived = store.add("step/arrived", 1);
const int64_t round = (arrived - 1) / world_size;
const std::string open = fmt::format("step/open/{}", round);
if (arrived % world_size == 0) store.set(open, "");
store.wait({open});
return;
// [/solution-barrier]
