// rejected by: slow
// because: fit into an `int`
//
// The mistake: an int for the number of a collective. A thousand in a second need 25
// days.

// [solution-culprit]
if (!evidence.store_answers) {
  return evidence.earlier.value_or(Blame{What::lost_store, 0});
}
for (const RankNews& news : evidence.ranks) {
  if (news.end == End::died) return {What::died, news.rank};
}
for (const RankNews& news : evidence.ranks) {
  if (news.end == End::failed) return {What::failed, news.rank};
}
if (evidence.ranks.empty()) return {};
const auto silent = std::ranges::max_element(evidence.ranks, {}, &RankNews::silence);
if (silent->silence >= evidence.patience) {
  return {silent->has_beaten ? What::hangs : What::never_joined, silent->rank};
}
const auto seq = [](const RankNews& news) { return static_cast<int>(news.seq); };
const auto last = std::ranges::min_element(evidence.ranks, {}, seq);
const auto first = std::ranges::max_element(evidence.ranks, {}, seq);
if (!evidence.timed_out || seq(*last) == seq(*first)) return {};
return {What::behind, last->rank};
// [/solution-culprit]
