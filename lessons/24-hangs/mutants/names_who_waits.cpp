// rejected by: behind
// because: The one at fault does not wait
//
// The misconception: the rank that reports a timeout is the one that is stuck.

// [solution-watchdog]
size_t most = 0, fewest = SIZE_MAX;
for (const Calls& of_rank : calls) {
  most = std::max(most, of_rank.size());
  fewest = std::min(fewest, of_rank.size());
}
if (most == fewest) return {};
Missing missing{static_cast<int64_t>(fewest), {}};
for (size_t r = 0; r < calls.size(); ++r) {
  if (calls[r].size() > fewest) missing.ranks.push_back(static_cast<int>(r));
}
return missing;
// [/solution-watchdog]
