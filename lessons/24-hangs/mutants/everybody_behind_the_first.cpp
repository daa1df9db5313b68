// rejected by: behind
// because: neither is at fault
//
// The misconception: who is not as far as the first is late.

// [solution-watchdog]
size_t most = 0;
for (const Calls& of_rank : calls) most = std::max(most, of_rank.size());
Missing missing{static_cast<int64_t>(most) - 1, {}};
for (size_t r = 0; r < calls.size(); ++r) {
  if (calls[r].size() < most) missing.ranks.push_back(static_cast<int>(r));
}
return missing.ranks.empty() ? Missing{} : missing;
// [/solution-watchdog]
