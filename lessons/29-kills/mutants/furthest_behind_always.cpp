// rejected by: only_waiting
// because: each waits, none is behind
//
// The misconception: somebody is always behind, and that one is to blame.

// [solution-culprit]
if (!evidence.store_answers) {
  return evidence.earlier.value_or(Blame{What::lost_store, 0});
}
if (evidence.ranks.empty()) return {};
const auto last = std::ranges::min_element(evidence.ranks, {}, &RankNews::seq);
return {What::behind, last->rank};
// [/solution-culprit]
