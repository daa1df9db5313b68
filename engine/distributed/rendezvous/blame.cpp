#include "engine/distributed/rendezvous/blame.h"

#include <map>

namespace lockstep::distributed {
namespace {

using What = Blame::What;
using End = RankNews::End;

/// Returns the lowest rank that has ended this way, or −1.
int first_with(End end, const std::vector<RankNews>& ranks) {
  for (const RankNews& news : ranks) {
    if (news.end == end) return news.rank;
  }
  return -1;
}

Blame silent_for_too_long(const Evidence& evidence) {
  const RankNews* silent = nullptr;
  for (const RankNews& news : evidence.ranks) {
    if (!silent || news.silence > silent->silence) silent = &news;
  }
  if (!silent || silent->silence < evidence.patience) return {};
  return {silent->has_beaten ? What::hangs : What::never_joined, silent->rank};
}

Blame furthest_behind(const std::vector<RankNews>& ranks) {
  const RankNews *last = nullptr, *first = nullptr;
  for (const RankNews& news : ranks) {
    if (!last || news.seq < last->seq) last = &news;
    if (!first || news.seq > first->seq) first = &news;
  }
  if (!last || last->seq == first->seq) return {};
  return {What::behind, last->rank};
}

}  // namespace

Blame whom_to_blame(const Evidence& evidence) {
  if (!evidence.store_answers) {
    return evidence.earlier.value_or(Blame{What::lost_store, 0});
  }
  const int died = first_with(End::died, evidence.ranks);
  if (died >= 0) return {What::died, died};
  const int failed = first_with(End::failed, evidence.ranks);
  if (failed >= 0) return {What::failed, failed};
  const Blame silent = silent_for_too_long(evidence);
  if (silent.rank >= 0 || !evidence.timed_out) return silent;
  return furthest_behind(evidence.ranks);
}

std::vector<RankNews> news_of(const Health& health) {
  std::map<int, RankNews> by_rank;
  for (const Health::Rank* rank :
       {&health.gone, &health.failed, &health.silent, &health.last, &health.first}) {
    if (rank->rank < 0) continue;
    by_rank[rank->rank].rank = rank->rank;
    by_rank[rank->rank].seq = rank->seq;
  }
  if (health.failed.rank >= 0) by_rank[health.failed.rank].end = End::failed;
  if (health.gone.rank >= 0) by_rank[health.gone.rank].end = End::died;
  if (health.silent.rank >= 0) {
    by_rank[health.silent.rank].silence = health.silence;
    by_rank[health.silent.rank].has_beaten = health.has_beaten;
  }
  std::vector<RankNews> ranks;
  for (const auto& [rank, news] : by_rank) ranks.push_back(news);
  return ranks;
}

runtime::Slot<decltype(whom_to_blame)>& blame_slot() {
  static runtime::Slot<decltype(whom_to_blame)> in_use("whom_to_blame", whom_to_blame);
  return in_use;
}

}  // namespace lockstep::distributed
