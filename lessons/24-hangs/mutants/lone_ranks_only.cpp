// rejected by: another_call
// because: although they agree with each other
//
// The misconception: only a rank that is alone with its call is at fault.

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
  size_t largest = 0;
  for (const auto& [call, ranks] : count) largest = std::max(largest, ranks);
  for (size_t r = 0; r < calls.size(); ++r) {
    const bool names = largest * 2 <= calls.size() || count[calls[r][i]] == 1;
    if (names) missing.ranks.push_back(static_cast<int>(r));
  }
  return missing;
}
return {};
// [/solution-watchdog]
