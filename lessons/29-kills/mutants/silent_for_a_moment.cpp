// rejected by: slow
// because: it is alive, and the others wait for it
//
// The misconception: only a rank without any silence is alive. There is always some time
// since the latest heartbeat.

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
const RankNews* last = nullptr;
const auto first = std::ranges::max_element(evidence.ranks, {}, &RankNews::seq);
for (const RankNews& news : evidence.ranks) {
  const bool alive = news.silence == Milliseconds(0);
  if (alive && news.seq < first->seq && (!last || news.seq < last->seq)) last = &news;
}
return evidence.timed_out && last ? Blame{What::behind, last->rank} : Blame();
// [/solution-culprit]
