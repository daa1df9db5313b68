// rejected by: only_waiting
// because: compare it as it is
//
// The mistake: milliseconds fit into an int. Those of max() become -1, and nobody is that
// quick.

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
const int quiet = silent->silence.count(), patience = evidence.patience.count();
if (quiet >= patience) {
  return {silent->has_beaten ? What::hangs : What::never_joined, silent->rank};
}
const auto last = std::ranges::min_element(evidence.ranks, {}, &RankNews::seq);
const auto first = std::ranges::max_element(evidence.ranks, {}, &RankNews::seq);
if (!evidence.timed_out || last->seq == first->seq) return {};
return {What::behind, last->rank};
// [/solution-culprit]
