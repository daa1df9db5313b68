// rejected by: silent
// because: it fell silent first
//
// The mistake: any silent rank will do.

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
for (const RankNews& news : evidence.ranks) {
  if (news.silence < evidence.patience) continue;
  return {news.has_beaten ? What::hangs : What::never_joined, news.rank};
}
if (evidence.ranks.empty()) return {};
const auto last = std::ranges::min_element(evidence.ranks, {}, &RankNews::seq);
const auto first = std::ranges::max_element(evidence.ranks, {}, &RankNews::seq);
if (!evidence.timed_out || last->seq == first->seq) return {};
return {What::behind, last->rank};
// [/solution-culprit]
