// Lesson 29: a job has stopped. Which rank is to blame?
#include <algorithm>
#include <cstdint>
#include <vector>

#include "engine/distributed/rendezvous/blame.h"
#include "lessons/plugin.h"

using namespace lockstep;

/// What is known of one rank:
///
///   rank          its number
///   end           End::none; End::failed: it has reported an error, and stops;
///                 End::died: its process has ended without a word
///   silence       the time since its latest heartbeat; 0 where the store has not told
///                 it, since another rank has been silent for longer
///   has_beaten    false: there was no heartbeat yet, and `silence` counts from the
///                 first heartbeat of any rank
///   seq           the number of its latest collective, an int64_t; −1: none yet
using distributed::RankNews;
using End = RankNews::End;

/// What one rank knows:
///
///   ranks          of each rank that the store has reported, ascending by rank. In a
///                  large job these are not all; it may be none
///   patience       a silence as long as this, or longer, is too long; none is
///                  if it is Milliseconds::max()
///   timed_out      a collective of this rank has waited too long
///   store_answers  false: rank 0's store does not answer, and `ranks` is what it said
///                  last
///   earlier        whom this rank has blamed before, if anybody: an std::optional
using distributed::Evidence;

/// The answer, such as `{What::died, 2}`. `Blame()` names nobody.
using distributed::Blame;
using What = Blame::What;

/// Returns which rank is to blame, and for what: What::died, failed, hangs,
/// never_joined (it is silent, and always was), behind, or lost_store. Of two ranks the
/// one is named that may have stopped the other, and that needs to be looked at first:
///
///   if the store does not answer, nothing else counts: `earlier` as it is, if there is
///   one, otherwise rank 0, which hosts the store;
///   a rank that died, before one that failed, before one that is silent for too long,
///   before one that is alive but behind in its collectives.
///
/// A rank is behind if another one has reached a later collective, and it is named only
/// after a timeout. Ranks that are all in the same collective only wait.
///
/// Of several, the lowest is named: all ranks must come to the same answer. But the
/// most silent one comes before others that are silent, and the one furthest behind
/// before others that are behind.
Blame culprit(const Evidence& evidence) {
  // [solution-culprit]
  if (!evidence.store_answers) {
    return evidence.earlier.value_or(Blame{What::lost_store, 0});
  }
  for (const End end : {End::died, End::failed}) {
    for (const RankNews& news : evidence.ranks) {
      const What what = end == End::died ? What::died : What::failed;
      if (news.end == end) return {what, news.rank};
    }
  }
  if (evidence.ranks.empty()) return {};
  const auto [last, first] =
      std::ranges::minmax_element(evidence.ranks, {}, &RankNews::seq);
  const auto silent = std::ranges::max_element(evidence.ranks, {}, &RankNews::silence);
  if (silent->silence >= evidence.patience) {
    return {silent->has_beaten ? What::hangs : What::never_joined, silent->rank};
  }
  const bool behind = evidence.timed_out && last->seq < first->seq;
  return behind ? Blame{What::behind, last->rank} : Blame();
  // [/solution-culprit]
  lessons::not_written("culprit: of two ranks, which may have stopped the other?");
}

// The monitor of each rank asks your function.
LOCKSTEP_LESSON(29) { distributed::blame_slot().plug(culprit); }
