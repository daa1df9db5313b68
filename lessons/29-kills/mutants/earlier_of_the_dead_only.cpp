// rejected by: store
// because: second victim
//
// The misconception: only a rank that has ended is certain, so an earlier `hangs` is
// forgotten when the store goes.

// [solution-culprit]
if (!evidence.store_answers) {
  const Blame earlier = evidence.earlier.value_or(Blame());
  const bool ended = earlier.what == What::died || earlier.what == What::failed;
  return ended ? earlier : Blame{What::lost_store, 0};
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
