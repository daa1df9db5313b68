// rejected by: ended
// because: only with that word
//
// The misconception: both have ended, so one word does for both.

// [solution-culprit]
if (!evidence.store_answers) {
  return evidence.earlier.value_or(Blame{What::lost_store, 0});
}
for (const End end : {End::died, End::failed}) {
  for (const RankNews& news : evidence.ranks) {
    if (news.end == end) return {What::died, news.rank};
  }
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
