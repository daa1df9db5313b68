// Verifies that all ranks have the same options: they may be started separately.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/distributed/rendezvous/store.h"
#include "run/config.h"

namespace lockstep::run {

/// Flags (or other facts) and their values, in a fixed order.
using Facts = std::vector<std::pair<std::string, std::string>>;

/// Returns the options that must be equal on all ranks for their gradients to match.
Facts shared_options(const RunConfig& config);

/// The lowest rank whose facts differ from rank 0's.
struct Difference {
  int rank = 0;
  std::vector<size_t> facts;  ///< indices of those that differ; at least one
  Facts theirs, zeros;        ///< these facts, of that rank and of rank 0

  /// Returns "rank 2 has …, but rank 0 has …", with all of them or the first.
  std::string text() const { return text_of(facts.size()); }
  std::string first_text() const { return text_of(1); }

 private:
  std::string text_of(size_t count) const;
};

/// Waits until every rank has called this function with as many facts about the topic
/// `about`. Returns the same on every rank: nullopt if all facts are equal. Throws
/// StoreTimeout, whose keys are `about/RANK` of all ranks that did not arrive. If rank
/// 0 has arrived, the others learn from it who is missing, also when their own time is
/// not over.
std::optional<Difference> compare(distributed::Store& store, const std::string& about,
                                  const Facts& facts, int rank, int world,
                                  Milliseconds timeout);

/// Compares facts that options decide. Throws the same std::runtime_error on every rank
/// if any rank's facts differ, with the fix, and StoreTimeout as compare() does.
void agree(distributed::Store& store, const std::string& about, const Facts& facts,
           int rank, int world, Milliseconds timeout);

/// Returns "rank 3" or "ranks 3, 5 and 7" (at most eight by number) for keys `…/RANK`.
std::string ranks_in(const std::vector<std::string>& keys);

}  // namespace lockstep::run
