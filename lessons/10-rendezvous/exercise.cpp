// Lesson 10: how ranks meet, and which of their random numbers are the same.
#include <fmt/format.h>

#include <cstdint>
#include <string>

#include "engine/distributed/rendezvous/store.h"
#include "engine/tensor/philox.h"
#include "lessons/plugin.h"

using namespace lockstep;

/// Returns when all `world_size` ranks have called it with this name: no rank leaves
/// before the last one has arrived. It may be called repeatedly, with the same name or
/// with others, and some ranks are slow to leave.
///
/// Ranks are processes, or threads of one process; they share only the store. Its
/// calls, of which a rank needs two or three per barrier:
///
///   store.add(key, 1)     adds to a counter and returns the sum (1 for the first)
///   store.set(key, text)
///   store.wait({key})     sleeps until the key is set; throws StoreTimeout, which
///                         names the key, if it is never set: do not catch it,
///                         since its message tells the user what is missing
///
/// Keys are arbitrary text, such as fmt::format("{}/{}", name, 7).
extern "C" void store_barrier(distributed::Store& store, const std::string& name,
                              int world_size) {
  // [solution-barrier]
  const int64_t arrived = store.add(name + "/arrived", 1);
  const int64_t round = (arrived - 1) / world_size;
  const std::string open = fmt::format("{}/open/{}", name, round);
  if (arrived % world_size == 0) store.set(open, "");
  store.wait({open});
  return;
  // [/solution-barrier]
  lessons::not_written("store_barrier: count the arrivals, and wait for the last one");
}

/// The seeds of one rank. (Do not change this struct.)
struct SeedPlan {
  uint64_t weights;  ///< for the initial weights: the same on all ranks
  uint64_t shuffle;  ///< for the epoch's order, of which each rank takes its part
  uint64_t augment;  ///< for crops and flips: different on every rank
};

/// Returns what rank `rank` of a run with `--seed seed` uses. Runs with different seeds
/// must share none of these numbers, or repetitions of an experiment would not be
/// independent. Seeds are small numbers (0 … 9), and so are ranks (0 … 7).
///
/// Philox{key}.block(counter, stream) returns four 32-bit words, different for every
/// (key, counter, stream); fnv1a64("name") derives a stream from a name.
extern "C" SeedPlan seeds_of(uint64_t seed, int rank) {
  // [solution-seeds]
  const auto draw = [&](const char* use, int who) {
    const auto words = Philox{seed}.block(who, fnv1a64(use));
    return uint64_t{words[0]} << 32 | words[1];
  };
  return {draw("weights", 0), draw("shuffle", 0), draw("augment", rank)};
  // [/solution-seeds]
  lessons::not_written("seeds_of: what do all ranks share, and what differs?");
}

// The tests find both functions by name; nothing in the engine is replaced.
LOCKSTEP_LESSON(10) {}
