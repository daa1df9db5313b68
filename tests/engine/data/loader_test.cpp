// sanitize: address thread
#include "engine/data/loader.h"

#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <condition_variable>
#include <latch>
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>

#include "engine/data/cifar10.h"
#include "engine/data/generated.h"
#include "tests/base/test_files.h"

namespace lockstep::data {
namespace {

/// Sample i is the single number i. `on_get` runs inside get().
class Counting : public Dataset {
 public:
  explicit Counting(int64_t length, std::function<void(int64_t)> on_get = {})
      : length_(length), on_get_(std::move(on_get)) {}
  int64_t size() const override { return length_; }
  std::vector<int64_t> sample_shape() const override { return {1}; }
  int64_t classes() const override { return length_; }
  int64_t get(int64_t index, Draws&, std::span<float> image) const override {
    if (on_get_) on_get_(index);
    image[0] = static_cast<float>(index);
    return index;
  }

 private:
  int64_t length_;
  std::function<void(int64_t)> on_get_;
};

std::shared_ptr<Counting> counting(int64_t length,
                                   std::function<void(int64_t)> on_get = {}) {
  return std::make_shared<Counting>(length, std::move(on_get));
}

std::vector<Batch> epoch_of(DataLoader& loader, int64_t epoch) {
  loader.start_epoch(epoch);
  std::vector<Batch> batches;
  while (auto batch = loader.next()) batches.push_back(std::move(*batch));
  return batches;
}

bool same(const Batch& a, const Batch& b) {
  return a.shape == b.shape && a.images == b.images && a.labels == b.labels;
}

std::shared_ptr<Cifar10> pictures(int64_t count) {
  std::vector<uint8_t> records(count * kCifar10Record);
  for (size_t i = 0; i < records.size(); ++i) {
    records[i] = static_cast<uint8_t>(i % kCifar10Record == 0 ? i % 10 : i * 31 >> 3);
  }
  return std::make_shared<Cifar10>(std::move(records), "made", true);
}

TEST(DataLoader, CollatesSamplesIntoBatches) {
  DataLoader loader(std::make_shared<RandomDataset>(100, 5), {.batch_size = 30});
  EXPECT_EQ(loader.size(), 4);
  const auto batches = epoch_of(loader, 0);
  ASSERT_EQ(batches.size(), 4u);
  EXPECT_EQ(batches[0].shape, (std::vector<int64_t>{30, 5}));
  EXPECT_EQ(batches[0].images.size(), 150u);
  EXPECT_EQ(batches[3].shape, (std::vector<int64_t>{10, 5})) << "not padded";
  EXPECT_EQ(batches[3].images.size(), 50u);
  EXPECT_EQ(batches[3].size(), 10);

  const auto image = pictures(3);
  DataLoader images(image, {.batch_size = 2});
  EXPECT_EQ(epoch_of(images, 0)[0].shape, (std::vector<int64_t>{2, 3, 32, 32}));
}

TEST(DataLoader, DropsTheShortBatchIfAsked) {
  DataLoader loader(counting(100), {.batch_size = 30, .workers = 2, .drop_last = true});
  EXPECT_EQ(loader.size(), 3);
  EXPECT_EQ(epoch_of(loader, 0).size(), 3u);
}

TEST(DataLoader, GivesTheSameBatchesWithAnyNumberOfWorkers) {
  const auto dataset = pictures(53);
  const LoaderOptions options{.batch_size = 4, .shuffle = true, .seed = 11};
  DataLoader alone(dataset, options);
  const auto first = epoch_of(alone, 0), second = epoch_of(alone, 1);
  ASSERT_EQ(first.size(), 14u);
  EXPECT_FALSE(same(first[0], second[0])) << "each epoch has a different order";

  for (const int workers : {1, 2, 4, 20}) {
    LoaderOptions with_workers = options;
    with_workers.workers = workers;
    DataLoader loader(dataset, with_workers);
    for (const auto* expected : {&first, &second, &first}) {
      const auto got = epoch_of(loader, expected == &second ? 1 : 0);
      ASSERT_EQ(got.size(), expected->size());
      for (size_t i = 0; i < got.size(); ++i) {
        EXPECT_TRUE(same(got[i], (*expected)[i])) << workers << " workers, batch " << i;
      }
    }
  }
}

TEST(DataLoader, AugmentsTheSameSampleDifferentlyInAnotherEpoch) {
  DataLoader loader(pictures(8), {.batch_size = 8});
  const auto first = epoch_of(loader, 0)[0], second = epoch_of(loader, 1)[0];
  EXPECT_EQ(first.labels, second.labels);
  EXPECT_NE(first.images, second.images);
}

/// Sample i is its first random draw.
class Drawing : public Dataset {
 public:
  int64_t size() const override { return 20; }
  std::vector<int64_t> sample_shape() const override { return {1}; }
  int64_t classes() const override { return 20; }
  int64_t get(int64_t index, Draws& draws, std::span<float> image) const override {
    image[0] = static_cast<float>(draws.uniform());
    return index;
  }
};

TEST(DataLoader, GivesASampleTheDrawsOfItsSeedEpochAndIndex) {
  auto draws_of = [](const LoaderOptions& options, int64_t epoch) {
    DataLoader loader(std::make_shared<Drawing>(), options);
    std::map<int64_t, float> draws;
    for (const Batch& batch : epoch_of(loader, epoch)) {
      for (int64_t i = 0; i < batch.size(); ++i) {
        EXPECT_TRUE(draws.emplace(batch.labels[i], batch.images[i]).second);
      }
    }
    return draws;
  };
  const auto draws = draws_of({.batch_size = 3, .seed = 1}, 2);
  EXPECT_EQ(draws, draws_of({.batch_size = 7, .shuffle = true, .seed = 1}, 2));
  EXPECT_NE(draws, draws_of({.batch_size = 3, .seed = 2}, 2));
  EXPECT_NE(draws, draws_of({.batch_size = 3, .seed = 1}, 3));
}

TEST(DataLoader, FollowsASampler) {
  struct Backwards : Sampler {
    int64_t size() const override { return 3; }
    std::vector<int64_t> indices(int64_t) const override { return {9, 8, 7}; }
  };
  DataLoader loader(counting(10),
                    {.batch_size = 2, .sampler = std::make_shared<Backwards>()});
  EXPECT_EQ(loader.size(), 2);
  const auto batches = epoch_of(loader, 0);
  EXPECT_EQ(batches[0].labels, (std::vector<int64_t>{9, 8}));
  EXPECT_EQ(batches[1].labels, (std::vector<int64_t>{7}));

  DataLoader small(counting(8), {.sampler = std::make_shared<Backwards>()});
  small.start_epoch(0);
  EXPECT_THROW(small.next(), std::out_of_range);
}

TEST(DataLoader, StaysAtTheEndUntilTheNextEpoch) {
  for (const int workers : {0, 2}) {
    DataLoader loader(counting(3), {.workers = workers});
    EXPECT_EQ(epoch_of(loader, 0).size(), 3u);
    EXPECT_FALSE(loader.next());
    EXPECT_FALSE(loader.next());
    EXPECT_EQ(epoch_of(loader, 1).size(), 3u);
    DataLoader empty(counting(0), {.workers = workers, .shuffle = true});
    EXPECT_EQ(epoch_of(empty, 0).size(), 0u);
  }
}

TEST(DataLoader, RethrowsAtTheTurnOfTheBatchAndGoesOn) {
  const auto dataset = counting(12, [](int64_t index) {
    if (index == 5) throw std::invalid_argument("bad picture");
  });
  DataLoader loader(dataset, {.batch_size = 2, .workers = 2});
  for (int repeat = 0; repeat < 20; ++repeat) {
    loader.start_epoch(repeat);
    EXPECT_EQ(loader.next()->labels[0], 0);
    EXPECT_EQ(loader.next()->labels[0], 2);
    try {
      loader.next();
      FAIL() << "no exception was thrown";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(),
                   "Caught std::invalid_argument in DataLoader worker 0 (batch 2, "
                   "sample 5): bad picture");
      EXPECT_THROW(std::rethrow_if_nested(error), std::invalid_argument);
    }
    EXPECT_EQ(loader.next()->labels[0], 6);
    EXPECT_EQ(loader.next()->labels[0], 8);
    EXPECT_EQ(loader.next()->labels[0], 10);
    EXPECT_FALSE(loader.next());
  }
}

TEST(DataLoader, AWorkerThatHangsIsAnErrorAndNobodyWaitsForItsEnd) {
  std::latch at_work(1), come_back(1), back(1);
  {
    const auto dataset = counting(12, [&](int64_t index) {
      if (index != 5) return;
      at_work.count_down();
      come_back.wait();
      back.count_down();
    });
    DataLoader loader(dataset, {.batch_size = 2, .workers = 2, .timeout = 0.02});
    loader.start_epoch(0);
    at_work.wait();
    // Other workers may time out as well on a busy machine; this one never returns.
    try {
      while (loader.next()) {
      }
      FAIL() << "no exception was thrown";
    } catch (const LoaderTimeout& error) {
      const std::string what = error.what();
      EXPECT_NE(what.find("DataLoader timed out after 0.02 seconds: worker "),
                std::string::npos);
      if (what.find("batch 2;") != std::string::npos) {
        EXPECT_NE(what.find("it is loading sample 5"), std::string::npos);
      }
    }
    EXPECT_THROW(loader.next(), std::runtime_error);
  }  // the loader is destroyed while its worker is still blocked
  come_back.count_down();
  back.wait();
}

TEST(DataLoader, TimeoutsNeedWorkers) {
  EXPECT_THROW(DataLoader(counting(3), {.timeout = 1}), std::runtime_error);
  EXPECT_THROW(DataLoader(counting(3), {.workers = 1, .timeout = -1}),
               std::runtime_error);
}

TEST(DataLoader, WithoutWorkersTheExceptionComesAsItIs) {
  DataLoader loader(counting(3,
                             [](int64_t index) {
                               if (index == 1)
                                 throw std::invalid_argument("bad picture");
                             }),
                    {});
  loader.start_epoch(0);
  EXPECT_EQ(loader.next()->labels[0], 0);
  EXPECT_THROW(loader.next(), std::invalid_argument);
  EXPECT_EQ(loader.next()->labels[0], 2);
}

TEST(DataLoader, SurvivesWhatIsNoStandardException) {
  DataLoader loader(counting(4, [](int64_t) { throw 42; }), {.workers = 2});
  loader.start_epoch(0);
  EXPECT_THROW(loader.next(), int);
}

TEST(DataLoader, MayBeLeftAtAnyMoment) {
  const auto dataset = counting(64);
  for (const int workers : {0, 1, 3}) {
    for (int taken = 0; taken < 12; ++taken) {
      DataLoader loader(dataset, {.batch_size = 4, .workers = workers});
      loader.start_epoch(0);
      for (int i = 0; i < taken; ++i) ASSERT_TRUE(loader.next());
      loader.start_epoch(1);  // and restart
      for (int i = 0; i < taken; ++i) EXPECT_EQ(loader.next()->labels[0], 4 * i);
    }
  }
  DataLoader unused(dataset, {.workers = 2});
}

// Worker 0 is blocked in its first batch until worker 1, which waits for room, has been
// stopped and has exited. Worker 0 has then been stopped as well and must not begin
// another batch, although there is room.
TEST(DataLoader, WhenLeftFinishesOnlyTheBatchesInHand) {
  static std::latch* gate;
  struct OpensGateAtThreadEnd {
    ~OpensGateAtThreadEnd() { gate->count_down(); }
  };
  std::latch both_began(2), worker_1_ended(1);
  gate = &worker_1_ended;
  std::atomic<int> batches_of_worker_0 = 0;
  const auto dataset = counting(100, [&](int64_t index) {
    if (index % 2 == 0) {
      ++batches_of_worker_0;
      if (index == 0) both_began.count_down();
      worker_1_ended.wait();
    } else {
      static thread_local OpensGateAtThreadEnd at_end;
      (void)at_end;
      if (index == 1) both_began.count_down();
    }
  });
  {
    DataLoader loader(dataset, {.workers = 2, .prefetch_factor = 2});
    loader.start_epoch(0);
    both_began.wait();
  }
  EXPECT_EQ(batches_of_worker_0, 1);
}

TEST(DataLoader, LeavesErrorsBehindWithoutALeak) {
  const auto dataset = counting(9, [](int64_t) { throw std::runtime_error("always"); });
  for (int repeat = 0; repeat < 50; ++repeat) {
    DataLoader loader(dataset, {.workers = 3});
    loader.start_epoch(0);
    EXPECT_THROW(loader.next(), std::runtime_error);
  }
}

// Each get() waits for a get() of the other worker; sequential workers would deadlock.
TEST(DataLoader, WorkersRunAtTheSameTime) {
  std::barrier both(2);
  DataLoader loader(counting(8, [&](int64_t) { both.arrive_and_wait(); }),
                    {.workers = 2});
  EXPECT_EQ(epoch_of(loader, 0).size(), 8u);
}

TEST(DataLoader, RunsAheadAsFarAsPrefetchFactorAllowsAndNoFarther) {
  constexpr int kWorkers = 2, kDepth = 2 * 3;
  std::mutex mutex;
  std::condition_variable changed;
  std::set<int64_t> made;
  int64_t most_taken = 0;  // incremented before next() is called
  int64_t too_early = 0;
  const auto dataset = counting(40, [&](int64_t index) {
    const std::lock_guard lock(mutex);
    made.insert(index);
    if (index >= most_taken + kDepth) ++too_early;
    changed.notify_all();
  });
  DataLoader loader(dataset, {.workers = kWorkers, .prefetch_factor = 3});
  loader.start_epoch(0);
  for (int64_t taken = 0; taken < 40; ++taken) {
    {
      std::unique_lock lock(mutex);
      const auto ahead = static_cast<size_t>(std::min<int64_t>(taken + kDepth, 40));
      ASSERT_TRUE(changed.wait_for(lock, std::chrono::seconds(60),
                                   [&] { return made.size() >= ahead; }));
      most_taken = taken + 1;
    }
    EXPECT_EQ(loader.next()->labels[0], taken);
  }
  EXPECT_EQ(too_early, 0);
}

TEST(DataLoader, ReportsEachBatchFromTheThreadThatMadeIt) {
  struct Call {
    int worker;
    int64_t batch, begin_ns, end_ns;
    std::thread::id thread;
  };
  for (const int workers : {0, 3}) {
    std::mutex mutex;
    std::vector<Call> calls;
    auto on_batch = [&](int worker, int64_t batch, int64_t begin_ns, int64_t end_ns) {
      const std::lock_guard lock(mutex);
      calls.push_back({worker, batch, begin_ns, end_ns, std::this_thread::get_id()});
    };
    timespec before{}, after{};
    clock_gettime(CLOCK_MONOTONIC, &before);
    DataLoader loader(counting(20),
                      {.batch_size = 2, .workers = workers, .on_batch = on_batch});
    EXPECT_EQ(epoch_of(loader, 0).size(), 10u);
    clock_gettime(CLOCK_MONOTONIC, &after);

    auto ns = [](const timespec& t) { return t.tv_sec * 1'000'000'000 + t.tv_nsec; };
    std::set<int64_t> batches;
    for (const Call& call : calls) {
      batches.insert(call.batch);
      EXPECT_EQ(call.worker, workers == 0 ? kCallingThread : call.batch % workers);
      EXPECT_EQ(call.thread == std::this_thread::get_id(), workers == 0);
      EXPECT_LE(ns(before), call.begin_ns);
      EXPECT_LE(call.begin_ns, call.end_ns);
      EXPECT_LE(call.end_ns, ns(after));
    }
    EXPECT_EQ(calls.size(), 10u);
    EXPECT_EQ(batches.size(), 10u);
  }
}

TEST(DataLoader, RefusesOptionsThatMakeNoSense) {
  auto with = [](LoaderOptions options) {
    return [options] { DataLoader(counting(3), options); };
  };
  expect_error(with({.batch_size = 0}), "batch_size", "not 0");
  expect_error(with({.workers = -1}), "workers", "not -1");
  expect_error(with({.prefetch_factor = 0}), "prefetch_factor", "not 0");
  expect_error(
      with({.shuffle = true, .sampler = std::make_shared<SequentialSampler>(3)}),
      "sampler", "shuffle");
  DataLoader loader(counting(3), {});
  expect_error([&] { loader.next(); }, "start_epoch");
}

}  // namespace
}  // namespace lockstep::data
