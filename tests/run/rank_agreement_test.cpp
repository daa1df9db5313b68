// Ranks compare their options: the same error everywhere, and few requests.
#include "run/rank_agreement.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace lockstep::run {
namespace {

using distributed::HashStore;
using distributed::StoreTimeout;

/// Counts the requests that ranks make.
class CountedStore : public HashStore {
 public:
  using HashStore::get;
  using HashStore::wait;

  void set(const std::string& key, const std::string& value) override {
    ++requests;
    HashStore::set(key, value);
  }
  std::string get(const std::string& key, Milliseconds timeout) override {
    ++requests;
    return HashStore::get(key, timeout);
  }
  void wait(const std::vector<std::string>& keys, Milliseconds timeout) override {
    ++requests;
    HashStore::wait(keys, timeout);
  }
  std::atomic<int> requests = 0;
};

/// Returns each rank's error; "" if it agreed. Rank `absent` does not take part: all
/// others have arrived, however late their threads begin.
/// Rank 0 waits for `timeout`, the others for `of_others` if it is not 0.
std::vector<std::string> errors_of(HashStore& store, const std::vector<Facts>& facts,
                                   Milliseconds timeout, int absent = -1,
                                   Milliseconds of_others = Milliseconds(0)) {
  const int world = static_cast<int>(facts.size());
  std::vector<std::string> errors(facts.size());
  for (int rank = 0; rank < world && absent >= 0; ++rank) {
    if (rank != absent) store.set("ready/" + std::to_string(rank), "[]");
  }
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < world; ++rank) {
    if (rank == absent) continue;
    ranks.emplace_back([&, rank] {
      try {
        const bool own = rank > 0 && of_others.count() > 0;
        agree(store, "ready", facts[rank], rank, world, own ? of_others : timeout);
      } catch (const StoreTimeout& late) {
        errors[rank] = "no";
        for (const std::string& key : late.keys()) errors[rank] += " " + key;
      } catch (const std::exception& error) {
        errors[rank] = error.what();
      }
    });
  }
  for (std::thread& rank : ranks) rank.join();
  return errors;
}

constexpr Milliseconds kLongEnough{60'000};

TEST(RankAgreement, TakesAFewRequestsOfEachRank) {
  CountedStore store;
  constexpr int kRanks = 40;
  const std::vector<Facts> same(kRanks, {{"--lr", "0.1"}, {"--amp", "no"}});
  EXPECT_EQ(errors_of(store, same, kLongEnough), std::vector<std::string>(kRanks));
  EXPECT_LE(store.requests, 4 * kRanks);
}

TEST(RankAgreement, EndsWithOneErrorOnAllRanks) {
  HashStore store;
  const std::string error =
      "rank 2 has --lr 0.2, --amp, but rank 0 has --lr 0.1, no --amp; fix: start all "
      "ranks with the same options";
  EXPECT_EQ(errors_of(store,
                      {{{"--lr", "0.1"}, {"--amp", "no"}},
                       {{"--lr", "0.1"}, {"--amp", "no"}},
                       {{"--lr", "0.2"}, {"--amp", "yes"}}},
                      kLongEnough),
            std::vector<std::string>(3, error));
}

TEST(RankAgreement, NamesARankThatIsMissing) {
  const std::vector<Facts> facts(3);
  for (const int absent : {0, 1, 2}) {
    HashStore store;
    std::vector<std::string> expected(3, "no ready/" + std::to_string(absent));
    expected[absent] = "";
    EXPECT_EQ(errors_of(store, facts, Milliseconds(30), absent), expected);
  }
}

TEST(RankAgreement, SaysHowLongItWaitedForRankZero) {
  for (const bool there : {false, true}) {
    HashStore store;
    if (there) store.set("ready/0", "[]");  // it has not compared the options yet
    try {
      agree(store, "ready", {}, 1, 2, Milliseconds(30));
      FAIL();
    } catch (const StoreTimeout& late) {
      EXPECT_EQ(late.keys(), std::vector<std::string>{"ready/0"});
      EXPECT_EQ(late.timeout(), Milliseconds(30));
    }
  }
}

TEST(RankAgreement, RankZerosVerdictNamesTheMissingBeforeTheOthersTimeIsOver) {
  HashStore store;
  EXPECT_EQ(errors_of(store, std::vector<Facts>(3), Milliseconds(30), 2, kLongEnough),
            (std::vector<std::string>{"no ready/2", "no ready/2", ""}));
}

TEST(RankAgreement, WordsForTheMissing) {
  EXPECT_EQ(ranks_in({"ready/3"}), "rank 3");
  EXPECT_EQ(ranks_in({"ready/3", "ready/5", "ready/70"}), "ranks 3, 5 and 70");
  std::vector<std::string> many;
  for (int i = 1; i < 100; ++i) many.push_back("ready/" + std::to_string(i));
  EXPECT_EQ(ranks_in(many), "ranks 1, 2, 3, 4, 5, 6, 7, 8 and 91 others");
}

}  // namespace
}  // namespace lockstep::run
