// rejected by: waits_for_all
// because: ranks share nothing else
//
// The misconception: a static variable counts the rounds (it is every process's own,
// and all threads' together).

// [solution-barrier]
static int64_t rounds = 0;
const std::string round = fmt::format("{}/{}", name, rounds++);
if (store.add(round + "/arrived", 1) == world_size) store.set(round + "/open", "");
store.wait({round + "/open"});
return;
// [/solution-barrier]
