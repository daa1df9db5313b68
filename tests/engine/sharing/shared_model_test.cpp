// The shared model by itself: which updates are applied and which are lost, and how
// workers meet at its lock.
// sanitize: address thread
#include "engine/sharing/shared_model.h"

#include <gtest/gtest.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <thread>

#include "tests/engine/values.h"

namespace lockstep::sharing {
namespace {

/// What one worker sees of the shared model.
struct Hand {
  explicit Hand(SharedModel& model) : model(model) {
    for (const Tensor& tensor : model.tensors()) {
      read.push_back(Tensor::empty(tensor.sizes(), kHost, tensor.dtype()));
    }
    version = model.read(read);
  }
  Tensors plus(double step) const {
    Tensors next;
    for (const Tensor& tensor : read) {
      std::vector<double> values = test::values_of(tensor);
      for (double& value : values) value += step;
      next.push_back(Tensor::from(values, tensor.sizes(), tensor.dtype()));
    }
    return next;
  }
  Update add(double step) { return model.apply(read, plus(step), version); }

  SharedModel& model;
  Tensors read;
  int64_t version = 0;
};

void start(SharedModel& model, const std::vector<double>& values,
           DType type = DType::f64) {
  model.start_with({test::vector(values, type)});
}

TEST(SharedElements, AStepFromTheValueReadArrivesBitByBit) {
  const float read = 0.1F, next = std::nextafter(1e-9F, 1.0F);
  ASSERT_NE(read + (next - read), next) << "the case that addition rounds";
  EXPECT_EQ(moved(read, read, next), next);
  EXPECT_EQ(moved(2.0F, read, next), 2.0F + (next - read));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(moved(nan, nan, 1.0), 1.0);
}

TEST(SharedElements, StoresOverwriteWhatOthersStoredSinceTheLoad) {
  double memory = 10;
  Element<double> a(memory), b(memory);
  const double seen_by_a = a.load(), seen_by_b = b.load();
  EXPECT_FALSE(a.store(seen_by_a, moved(seen_by_a, 10.0, 11.0)));  // + 1
  EXPECT_TRUE(b.store(seen_by_b, moved(seen_by_b, 10.0, 14.0)));   // + 4
  EXPECT_EQ(memory, 14) << "sent 1 + 4, applied 4: the first update is lost";
}

TEST(SharedElements, AdditionsKeepWhatOthersStoredSinceTheRead) {
  double memory = 10;
  Element<double> a(memory), b(memory);
  a.add(10, 11);
  b.add(10, 14);
  EXPECT_EQ(memory, 15);
}

TEST(SharedModels, CountVersionsAndStaleness) {
  for (const UpdateBy rule : {UpdateBy::store, UpdateBy::fetch_add}) {
    SharedModel model(rule, 2);
    start(model, {1, 2, 3});
    Hand a(model), b(model);
    const Update first = a.add(1), second = b.add(10);
    EXPECT_EQ(first.version, 1);
    EXPECT_EQ(first.staleness(), 0);
    EXPECT_EQ(second.read_version, 0);
    EXPECT_EQ(second.version, 2);
    EXPECT_EQ(second.staleness(), 1);
    EXPECT_EQ(second.lost, 0) << "it was applied to the values after the first";
    EXPECT_EQ(test::values_of(Hand(model).read[0]), (std::vector<double>{12, 13, 14}));
    EXPECT_EQ(model.report(),
              "2 updates by 2 workers, staleness 0.50 on average, no update lost; an "
              "update changed 3.0 of 3 elements on average, 1.50 of them changed by "
              "others since they were read");
  }
}

TEST(SharedModels, LeaveElementsAloneThatAnUpdateDoesNotChange) {
  SharedModel model(UpdateBy::store, 2);
  start(model, {1, 2, 3}, DType::f32);
  Hand a(model), b(model);
  a.model.apply(a.read, {test::vector({1, 5, 3}, DType::f32)}, a.version);
  b.model.apply(b.read, {test::vector({0.5, 2, 3}, DType::f32)}, b.version);
  EXPECT_EQ(test::values_of(Hand(model).read[0]), (std::vector<double>{0.5, 5, 3}));
}

/// Two sparse updates that meet in one of five elements.
TEST(SharedModels, CountWhatAnUpdateChangesAndWhereOthersWere) {
  for (const UpdateBy rule : {UpdateBy::store, UpdateBy::fetch_add}) {
    SharedModel model(rule, 2);
    start(model, {1, 2, 3, 4, 5});
    Hand a(model), b(model);
    const Update first =
        model.apply(a.read, {test::vector({1, 9, 9, 4, 5}, DType::f64)}, a.version);
    const Update second =
        model.apply(b.read, {test::vector({1, 2, 8, 8, 8}, DType::f64)}, b.version);
    EXPECT_EQ(first.written, 2);
    EXPECT_EQ(first.conflicts, 0);
    EXPECT_EQ(second.written, 3);
    EXPECT_EQ(second.conflicts, 1);
    EXPECT_EQ(second.lost, 0) << "nobody stored between its load and its store";
    EXPECT_EQ(test::values_of(Hand(model).read[0]),
              (std::vector<double>{1, 9, 9 + 5, 8, 8}));
    const UpdateTotals all = model.totals();
    EXPECT_EQ(all.updates, 2);
    EXPECT_EQ(all.staleness, 1);
    EXPECT_EQ(all.written, 5);
    EXPECT_EQ(all.conflicts, 1);
    EXPECT_EQ(all.elements, 5);
    EXPECT_EQ(model.report(),
              "2 updates by 2 workers, staleness 0.50 on average, no update lost; an "
              "update changed 2.5 of 5 elements on average, 0.50 of them changed by "
              "others since they were read");
  }
}

TEST(SharedModels, ShareCountersToo) {
  SharedModel model(UpdateBy::fetch_add, 2);
  start(model, {7}, DType::i64);
  Hand a(model), b(model);
  a.add(1);
  b.add(1);
  EXPECT_EQ(test::values_of(Hand(model).read[0]), std::vector<double>{9});
}

/// Workers that add integers, which doubles hold exactly, whatever their order. Returns
/// the sum of what was added to each element less the sum sent.
struct Race {
  static constexpr int kWorkers = 4, kRounds = 200, kElements = 16;
  explicit Race(UpdateBy rule) : model(rule, kWorkers) {
    start(model, std::vector<double>(kElements, 0));
    std::vector<std::thread> threads;
    for (int w = 0; w < kWorkers; ++w) {
      threads.emplace_back([this, w] {
        model.agree(true);
        for (int i = 0; i < kRounds; ++i) updates[w].push_back(Hand(model).add(w + 1));
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const auto& of_worker : updates) {
      for (const Update& update : of_worker) {
        versions.push_back(update.version);
        lost += update.lost;
        stale += update.staleness();
      }
    }
    std::sort(versions.begin(), versions.end());
  }
  SharedModel model;
  std::vector<Update> updates[kWorkers];
  std::vector<int64_t> versions;
  int64_t lost = 0, stale = 0;
};

TEST(SharedModels, WithStoresWhatIsMissingWasCountedAsLost) {
  Race race(UpdateBy::store);
  const double sent = Race::kRounds * (1 + 2 + 3 + 4);
  int64_t incomplete = 0;
  for (const double value : test::values_of(race.model.tensors()[0])) {
    EXPECT_LE(value, sent);
    incomplete += value < sent;
  }
  EXPECT_LE(incomplete, race.lost) << "a missing update was overwritten by a store";
}

/// A worker's versions: between two of its own updates lie the updates of others,
/// before its read (the gap) or after it (the staleness). So their sums are what
/// remains of the versions, whatever the speeds; without gaps, N equal workers tend to
/// N − 1.
TEST(SharedModels, StalenessIsConserved) {
  Race race(UpdateBy::fetch_add);
  int64_t stale = 0, gaps = 0, rest = 0;
  for (const auto& of_worker : race.updates) {
    int64_t last = of_worker.front().read_version;
    for (const Update& update : of_worker) {
      ASSERT_GE(update.read_version, last) << "a worker reads its own updates";
      ASSERT_GT(update.version, update.read_version);
      gaps += update.read_version - last;
      stale += update.staleness();
      last = update.version;
    }
    rest +=
        last - of_worker.front().read_version - static_cast<int64_t>(of_worker.size());
  }
  EXPECT_EQ(stale + gaps, rest);
}

TEST(SharedModels, EqualWorkersTendToAStalenessOfOneLessThanTheirNumber) {
  constexpr int kWorkers = 4, kRounds = 50;
  SharedModel model(UpdateBy::store, kWorkers);
  start(model, {0});
  std::vector<Hand> hands(kWorkers, Hand(model));
  std::vector<int64_t> staleness;
  for (int i = 0; i < kRounds * kWorkers; ++i) {
    Hand& next = hands[i % kWorkers];
    staleness.push_back(next.add(1).staleness());
    next.version = model.read(next.read);
  }
  for (size_t i = 0; i < staleness.size(); ++i) {
    EXPECT_EQ(staleness[i], std::min<int64_t>(static_cast<int64_t>(i), kWorkers - 1));
  }
  EXPECT_EQ(test::values_of(model.tensors()[0])[0], kRounds * kWorkers);
}

TEST(SharedModels, AbandonedOnesWakeWhoeverWaits) {
  SharedModel model(UpdateBy::store, 3);
  start(model, {1});
  model.lock().acquire();
  std::string at_lock, at_meeting;
  std::thread locked(
      [&] { at_lock = test::message_of([&] { model.lock().acquire(); }); });
  std::thread meets([&] { at_meeting = test::message_of([&] { model.agree(true); }); });
  model.abandon("rank 2 failed: out of memory");
  locked.join();
  meets.join();
  EXPECT_EQ(at_lock, "rank 2 failed: out of memory");
  EXPECT_EQ(at_meeting, "rank 2 failed: out of memory");
  EXPECT_EQ(test::message_of([&] { Hand hand(model); }),
            "rank 2 failed: out of memory");
}

/// Whether this thread holds a robust mutex, by the kernel's list.
bool holds_a_robust_mutex() {
  robust_list_head* head = nullptr;
  size_t size = 0;
  ::syscall(SYS_get_robust_list, 0, &head, &size);
  return head->list.next != &head->list;
}

// Else the list would point to freed memory, which the next mutex overwrites.
TEST(SharedModels, AThreadThatFailsWithTheLockHoldsItNoLongerThanTheModel) {
  const auto fail = [] {
    SharedModel model(UpdateBy::store, 2);
    start(model, {1});
    model.lock().acquire();
    EXPECT_TRUE(holds_a_robust_mutex());
    throw std::runtime_error("out of memory");
  };
  EXPECT_THROW(fail(), std::runtime_error);
  EXPECT_FALSE(holds_a_robust_mutex());
}

TEST(SharedModels, TheLockAdmitsOneAtATime) {
  SharedModel model(UpdateBy::store, 4);
  start(model, {0});
  std::vector<std::thread> threads;
  for (int w = 0; w < 4; ++w) {
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) {
        model.lock().acquire();
        EXPECT_EQ(Hand(model).add(1).staleness(), 0);
        model.lock().release(tracer::kNone);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(test::values_of(model.tensors()[0])[0], 400);
}

}  // namespace
}  // namespace lockstep::sharing
