// rejected by: store
// because: nobody can tell
//
// The misconception: a store that does not answer is a dead one. A stopped one is as
// quiet.

// [solution-culprit]
if (!evidence.store_answers) return evidence.earlier.value_or(Blame{What::died, 0});
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
const auto last = std::ranges::min_element(evidence.ranks, {}, &RankNews::seq);
const auto first = std::ranges::max_element(evidence.ranks, {}, &RankNews::seq);
if (!evidence.timed_out || last->seq == first->seq) return {};
return {What::behind, last->rank};
// [/solution-culprit]
