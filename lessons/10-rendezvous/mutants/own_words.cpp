// rejected by: names_the_missing
// because: as it is
//
// The misconception: an error of the store is a detail that nobody should see.

// [solution-barrier]
const int64_t arrived = store.add(name + "/arrived", 1);
const int64_t round = (arrived - 1) / world_size;
const std::string open = fmt::format("{}/open/{}", name, round);
if (arrived % world_size == 0) store.set(open, "");
try {
  store.wait({open});
} catch (const std::exception&) {
  throw std::runtime_error("the barrier failed");
}
return;
// [/solution-barrier]
