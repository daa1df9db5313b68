// rejected by: another_call
// because: nobody can tell who is right
//
// The misconception: without a majority there is nothing to report.

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
  for (size_t r = 0; r < calls.size(); ++r) {
    const bool names = count[calls[r][i]] * 2 < calls.size();
    if (names) missing.ranks.push_back(static_cast<int>(r));
  }
  return missing;
}
return {};
// [/solution-watchdog]
