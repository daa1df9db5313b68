// Which rank is to blame when a job stops: a pure function, in a slot.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "engine/distributed/rendezvous/heartbeats.h"
#include "engine/runtime/slot.h"

namespace lockstep::distributed {

/// What is known of one rank.
struct RankNews {
  enum class End {
    none,    ///< it has not ended, as far as anybody knows
    failed,  ///< it has reported an error, which stopped it
    died,    ///< its process has ended without a word
  };
  int rank = 0;
  End end = End::none;
  /// Since its latest heartbeat. A lower bound: the store tells it of the most silent
  /// rank only. Always 0 for the rank that asks.
  Milliseconds silence{0};
  bool has_beaten = true;  ///< false: no heartbeat yet; `silence` counts from the first
                           ///< heartbeat of any rank
  int64_t seq = -1;        ///< number of its latest collective; −1 if none
};

/// Who is to blame, and for what.
struct Blame {
  enum class What {
    nobody,        ///< no rank is known to be at fault
    died,          ///< its process has ended without a word
    failed,        ///< it has reported an error
    hangs,         ///< no heartbeat for too long: stopped, or its machine is gone
    never_joined,  ///< the same, and there never was one
    behind,        ///< alive, but not in the collective in which others wait
    lost_store,    ///< rank 0, which hosts the store: it does not answer
  };
  What what = What::nobody;
  int rank = -1;  ///< −1: nobody
  bool operator==(const Blame&) const = default;
};

/// What one rank knows when it asks.
struct Evidence {
  std::vector<RankNews> ranks;  ///< ascending by rank; some may be left out
  Milliseconds patience{0};     ///< a silence as long as this, or longer, is too long
  bool timed_out = false;       ///< a collective of this rank has waited too long
  bool store_answers = true;    ///< false: `ranks` is what it said last
  /// Whom this rank has blamed already. The others end after a failure, rank 0 too, and
  /// the store with it.
  std::optional<Blame> earlier;
};

/// Returns the rank to blame, the first that applies:
///   if the store does not answer: `earlier` if there is one, otherwise rank 0;
///   a rank that died; one that failed; one that has been silent for too long;
///   after a timeout, one that is behind in its collectives.
/// Of several, the lowest; of silent ones, the most silent; of those behind, the one
/// that is furthest behind. A rank that is as far as all others only waits.
Blame whom_to_blame(const Evidence& evidence);

/// Returns what a store's answer says of the ranks that it names. It names all that
/// whom_to_blame() needs: the decision is the same as if it named every rank.
std::vector<RankNews> news_of(const Health& health);

/// The function that decides, in a slot (runtime/slot.h). It is called by threads
/// without a lane: `in_use()`, which records nothing. It must not throw.
runtime::Slot<decltype(whom_to_blame)>& blame_slot();

}  // namespace lockstep::distributed
