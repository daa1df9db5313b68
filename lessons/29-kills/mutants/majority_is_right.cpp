// rejected by: slow
// because: most ranks are in 5
//
// The misconception: the place of most ranks is the right one, and who is elsewhere is to
// blame.

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
std::vector<int64_t> places;
for (const RankNews& news : evidence.ranks) places.push_back(news.seq);
std::ranges::sort(places);
const auto last = std::ranges::min_element(evidence.ranks, {}, &RankNews::seq);
const bool behind = evidence.timed_out && last->seq < places[places.size() / 2];
return behind ? Blame{What::behind, last->rank} : Blame();
// [/solution-culprit]
