// rejected by: names_the_missing
// because: gives up silently
//
// The misconception: a rank that is late is not needed.

// [solution-barrier]
const int64_t arrived = store.add(name + "/arrived", 1);
const int64_t round = (arrived - 1) / world_size;
const std::string open = fmt::format("{}/open/{}", name, round);
if (arrived % world_size == 0) store.set(open, "");
try {
  store.wait({open});
} catch (const distributed::StoreTimeout&) {
}
return;
// [/solution-barrier]
