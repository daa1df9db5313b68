// rejected by: told_of_some
// because: an index is not a rank
//
// The mistake: ranks[2] is rank 2.

// [solution-culprit]
if (!evidence.store_answers) {
  return evidence.earlier.value_or(Blame{What::lost_store, 0});
}
const auto& ranks = evidence.ranks;
for (size_t r = 0; r < ranks.size(); ++r) {
  if (ranks[r].end == End::died) return {What::died, static_cast<int>(r)};
}
for (size_t r = 0; r < ranks.size(); ++r) {
  if (ranks[r].end == End::failed) return {What::failed, static_cast<int>(r)};
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
