// What a parameter server decides, driven by a simulation in which each worker takes
// the time that it is given: the staleness of gradients, the bound of SSP, and which
// gradients an update with backup workers is made of.
#include "engine/sharing/update_rule.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>

namespace lockstep::sharing {
namespace {

/// Workers that pull, compute for their time and push, again and again. At the same
/// time, the worker with the lower number comes first.
class Simulation {
 public:
  Simulation(std::vector<int64_t> times, PsOptions options)
      : times_(std::move(times)),
        rule_(static_cast<int>(times_.size()), options),
        ready_(times_.size()),
        computes_(times_.size()) {}

  void run(int pushes) {
    let_pull();
    while (pushes-- > 0) {
      int next = -1;
      for (int w = 0; w < size(); ++w) {
        if (computes_[w] && (next < 0 || ready_[w] < ready_[next])) next = w;
      }
      ASSERT_GE(next, 0) << "all workers wait";
      now_ = ready_[next];
      push(next);
      let_pull();
    }
  }

  int size() const { return static_cast<int>(times_.size()); }
  const UpdateRule& rule() const { return rule_; }

  std::vector<int64_t> staleness;                 ///< of each update, in order
  std::map<int, std::vector<int64_t>> of_worker;  ///< the same, by worker
  std::map<int, int> discarded;
  std::vector<std::vector<int>> updates;  ///< the workers of each
  int64_t furthest = 0;                   ///< how far a worker was ahead when it pulled

 private:
  void push(int w) {
    const UpdateRule::Push push = rule_.push(w);
    rule_.finish(w, push);
    computes_[w] = false;
    discarded[w] += push.discarded;
    if (push.applied.empty()) return;
    updates.push_back(push.applied);
    staleness.push_back(push.version - 1 - push.read_version);
    of_worker[w].push_back(staleness.back());
  }

  void let_pull() {
    for (int w = 0; w < size(); ++w) {
      if (computes_[w] || !rule_.may_pull(w)) continue;
      for (int other = 0; other < size(); ++other) {
        furthest = std::max(furthest, rule_.clock(w) - rule_.clock(other));
      }
      rule_.pull(w);
      computes_[w] = true;
      ready_[w] = now_ + times_[w];
    }
  }

  const std::vector<int64_t> times_;
  UpdateRule rule_;
  std::vector<int64_t> ready_;
  std::vector<bool> computes_;
  int64_t now_ = 0;
};

double mean(const std::vector<int64_t>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) /
         static_cast<double>(values.size());
}

TEST(ServerRule, EqualWorkersAreStaleByTheirNumberMinusOne) {
  Simulation equal({1, 1, 1, 1}, {Consistency::async});
  equal.run(12);
  EXPECT_EQ(equal.staleness,
            (std::vector<int64_t>{0, 1, 2, 3, 3, 3, 3, 3, 3, 3, 3, 3}));
}

TEST(ServerRule, OneWorkerIsNeverStale) {
  Simulation alone({1}, {Consistency::async});
  alone.run(5);
  EXPECT_EQ(alone.staleness, std::vector<int64_t>(5, 0));
}

/// The fast ones see two others, and the slow one in every third step; the slow one
/// sees three steps of three others. The mean is N - 1 all the same.
TEST(ServerRule, ASlowWorkerIsStaleAndTheMeanStays) {
  Simulation slow({1, 1, 1, 3}, {Consistency::async});
  slow.run(10 * 60);
  for (int w = 0; w < 3; ++w) {
    std::vector<int64_t> later(slow.of_worker[w].begin() + 3, slow.of_worker[w].end());
    std::map<int64_t, int> counts;
    for (const int64_t s : later) ++counts[s];
    ASSERT_EQ(counts.size(), 2u) << w;
    EXPECT_EQ(counts[2], 2 * counts[3]) << w;
  }
  for (const int64_t s : slow.of_worker[3]) EXPECT_EQ(s, 9);
  EXPECT_NEAR(mean(slow.staleness), 3, 0.02);
}

TEST(ServerRule, SspBoundsHowFarAWorkerIsAhead) {
  for (int64_t s = 0; s < 5; ++s) {
    Simulation ssp({2, 3, 17, 5}, {Consistency::ssp, s});
    ssp.run(400);
    EXPECT_EQ(ssp.furthest, s);  // reached, never exceeded
  }
  Simulation async({2, 3, 17, 5}, {Consistency::async});
  async.run(400);
  EXPECT_GT(async.furthest, 50);
}

TEST(ServerRule, SspWithoutStalenessKeepsPaceAsSync) {
  Simulation ssp({2, 3, 17, 5}, {Consistency::ssp, 0});
  Simulation sync({2, 3, 17, 5}, {Consistency::sync});
  ssp.run(40);
  sync.run(40);
  for (int w = 0; w < 4; ++w) {
    EXPECT_EQ(ssp.rule().clock(w), 10);
    EXPECT_EQ(sync.rule().clock(w), 10);
  }
}

TEST(ServerRule, SyncAddsAllGradientsInTheOrderOfTheirWorkers) {
  Simulation sync({5, 1, 9, 2}, {Consistency::sync});
  sync.run(12);
  EXPECT_EQ(sync.updates, std::vector<std::vector<int>>(3, {0, 1, 2, 3}));
  EXPECT_EQ(sync.staleness, std::vector<int64_t>(3, 0));
}

TEST(ServerRule, BackupWorkersDiscardTheLastGradient) {
  Simulation backup({5, 1, 99, 2}, {Consistency::sync, 0, 1});
  backup.run(61);
  EXPECT_EQ(backup.updates[0], (std::vector<int>{0, 1, 3}));
  EXPECT_EQ(backup.discarded[2], 1);
  EXPECT_EQ(backup.discarded[0] + backup.discarded[1] + backup.discarded[3], 0);
  for (const auto& workers : backup.updates) EXPECT_EQ(workers.size(), 3u);
  for (const int64_t s : backup.staleness) EXPECT_EQ(s, 0);
}

TEST(ServerRule, NobodyWaitsForAWorkerThatLeft) {
  UpdateRule ssp(2, {Consistency::ssp, 0});
  ssp.pull(0);
  ssp.finish(0, ssp.push(0));
  EXPECT_FALSE(ssp.may_pull(0));
  EXPECT_EQ(ssp.awaited_by(0), std::vector<int>{1});
  ssp.leave(1);
  EXPECT_TRUE(ssp.may_pull(0));

  UpdateRule sync(3, {Consistency::sync});
  for (const int w : {0, 1}) {
    sync.pull(w);
    sync.finish(w, sync.push(w));
  }
  EXPECT_FALSE(sync.is_due());
  sync.leave(2);
  ASSERT_TRUE(sync.is_due());
  const UpdateRule::Push push = sync.make_due();
  EXPECT_EQ(push.applied, (std::vector<int>{0, 1}));
  EXPECT_EQ(push.version, 1);
  EXPECT_FALSE(sync.may_pull(0));
  sync.publish(push);
  EXPECT_TRUE(sync.may_pull(0));
}

/// Two of three workers are where recording begins: the third goes on alone.
TEST(ServerRule, NobodyWaitsForAWorkerThatPauses) {
  UpdateRule backup(3, {Consistency::sync, 0, 1});
  backup.pull(0);
  backup.finish(0, backup.push(0));
  EXPECT_FALSE(backup.is_due());
  backup.leave(1);
  EXPECT_FALSE(backup.is_due());
  backup.leave(2);
  EXPECT_TRUE(backup.is_due());
  backup.come_back(1);
  EXPECT_FALSE(backup.is_due());
}

}  // namespace
}  // namespace lockstep::sharing
