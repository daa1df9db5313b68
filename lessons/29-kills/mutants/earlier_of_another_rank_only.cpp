// rejected by: store
// because: named rank 0 before
//
// The misconception: what was said of rank 0 and a store that is gone are the same.

// [solution-culprit]
if (!evidence.store_answers) {
  if (evidence.earlier && evidence.earlier->rank != 0) return *evidence.earlier;
  return {What::lost_store, 0};
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
const auto last = std::ranges::min_element(evidence.ranks, {}, &RankNews::seq);
const auto first = std::ranges::max_element(evidence.ranks, {}, &RankNews::seq);
if (!evidence.timed_out || last->seq == first->seq) return {};
return {What::behind, last->rank};
// [/solution-culprit]
