// Which rank is to blame, from what a store says of the ranks.
// sanitize: thread
#include "engine/distributed/rendezvous/blame.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "engine/distributed/rendezvous/store.h"

namespace lockstep::distributed {
namespace {

using End = RankNews::End;
using What = Blame::What;

const TimePoint kBegan = TimePoint() + std::chrono::hours(1);

/// Three ranks of which each waits in collective 7.
Evidence three_that_wait() {
  Evidence evidence;
  for (int rank = 0; rank < 3; ++rank)
    evidence.ranks.push_back({.rank = rank, .seq = 7});
  evidence.patience = Milliseconds(500);
  evidence.timed_out = true;
  return evidence;
}

Blame named(const Evidence& evidence) { return whom_to_blame(evidence); }

TEST(StoreBlame, NamesNobodyIfAllRanksOnlyWait) {
  EXPECT_EQ(named(three_that_wait()), Blame());
  EXPECT_EQ(named({}), Blame());
}

TEST(StoreBlame, PrefersTheDeadToTheFailedToTheSilentToTheSlow) {
  Evidence evidence = three_that_wait();
  evidence.ranks[1].seq = 6;
  evidence.ranks[2].seq = 5;
  EXPECT_EQ(named(evidence), (Blame{What::behind, 2}));
  evidence.timed_out = false;
  EXPECT_EQ(named(evidence), Blame());
  evidence.ranks[1].silence = Milliseconds(499);
  EXPECT_EQ(named(evidence), Blame());
  evidence.ranks[1].silence = Milliseconds(500);
  EXPECT_EQ(named(evidence), (Blame{What::hangs, 1}));
  evidence.ranks[2].silence = Milliseconds(501);
  evidence.ranks[2].has_beaten = false;
  EXPECT_EQ(named(evidence), (Blame{What::never_joined, 2}));
  evidence.ranks[2].end = End::failed;
  EXPECT_EQ(named(evidence), (Blame{What::failed, 2}));
  evidence.ranks[1].end = End::failed;
  EXPECT_EQ(named(evidence), (Blame{What::failed, 1}));
  evidence.ranks[2].end = End::died;
  EXPECT_EQ(named(evidence), (Blame{What::died, 2}));
  evidence.ranks[0].end = End::died;
  EXPECT_EQ(named(evidence), (Blame{What::died, 0})) << "the lowest, also rank 0";
}

TEST(StoreBlame, NamesRank0WithoutAStoreUnlessSomebodyWasNamedBefore) {
  Evidence evidence = three_that_wait();
  evidence.ranks[1].end = End::died;
  evidence.store_answers = false;
  EXPECT_EQ(named(evidence), (Blame{What::lost_store, 0}));
  evidence.earlier = Blame{What::failed, 2};
  EXPECT_EQ(named(evidence), (Blame{What::failed, 2}));
  evidence.store_answers = true;
  EXPECT_EQ(named(evidence), (Blame{What::died, 1}));
}

/// A store's answer names five ranks at most, and that suffices.
TEST(StoreBlame, IsTheSameFromASummaryAsFromAllRanks) {
  std::mt19937 random(1);
  std::map<What, int> seen;
  for (int i = 0; i < 2000; ++i) {
    const int world = 1 + static_cast<int>(random() % 7);
    const int asker = static_cast<int>(random() % world);
    const TimePoint now = kBegan + Milliseconds(1000);
    store::Heartbeats beats;
    Evidence all;
    std::map<int, std::string> gone, failed;
    beats.note({asker, world, static_cast<int64_t>(random() % 3)}, kBegan);
    for (int rank = 0; rank < world; ++rank) {
      RankNews news{.rank = rank, .seq = static_cast<int64_t>(random() % 3)};
      news.has_beaten = rank == asker || random() % 8 > 0;
      news.silence = Milliseconds(news.has_beaten ? random() % 4 * 250 : 1000);
      if (!news.has_beaten) news.seq = -1;
      if (news.has_beaten) beats.note({rank, world, news.seq}, now - news.silence);
      if (rank == asker) news.silence = Milliseconds(0);
      if (rank != asker && random() % 16 == 0) {
        news.end = random() % 2 ? End::failed : End::died;
        gone[rank] = "lost";  // as soon as the process has ended, whatever it said
        if (news.end == End::failed) failed[rank] = "no memory";
      }
      all.ranks.push_back(news);
    }
    all.patience = Milliseconds(random() % 2 ? 500 : 1100);
    all.timed_out = random() % 2;
    Evidence summary = all;
    summary.ranks = news_of(beats.health(asker, now, gone, failed));
    ASSERT_EQ(named(summary), named(all)) << "case " << i;
    ++seen[named(all).what];
  }
  EXPECT_EQ(seen.size(), 6u) << "all but the lost store";
}

}  // namespace
}  // namespace lockstep::distributed
