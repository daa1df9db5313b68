// rejected by: another_call
// because: more than half of the ranks
//
// The misconception: the largest group is right, also if it is no majority.

// [solution-watchdog]
size_t most = 0;
for (const Calls& of_rank : calls) most = std::max(most, of_rank.size());
for (size_t i = 0; i < most; ++i) {
  std::map<std::string, size_t> count;
  Missing missing{static_cast<int64_t>(i), {}};
  for (size_t r = 0; r < calls.size(); ++r) {
    if (calls[r].size() > i) {
      ++count[calls[r][i]];
    } else {
      missing.ranks.push_back(static_cast<int>(r));
    }
  }
  if (!missing.ranks.empty()) return missing;
  if (count.size() == 1) continue;
  size_t largest = 0, groups = 0;
  for (const auto& [call, size] : count) largest = std::max(largest, size);
  for (const auto& [call, size] : count) groups += size == largest;
  for (size_t r = 0; r < calls.size(); ++r) {
    if (groups > 1 || count[calls[r][i]] < largest) {
      missing.ranks.push_back(static_cast<int>(r));
    }
  }
  return missing;
}
return {};
// [/solution-watchdog]
