// Properties common to all stores, tested for each of them.
// sanitize: address thread
#include "engine/distributed/rendezvous/store.h"

#include <gtest/gtest.h>

#include <latch>
#include <limits>
#include <memory>
#include <set>
#include <thread>

#include "engine/distributed/rendezvous/file_store.h"
#include "engine/distributed/rendezvous/tcp_store.h"
#include "tests/base/test_files.h"

namespace lockstep::distributed {
namespace {

using Keys = std::vector<std::string>;
using std::chrono::milliseconds;
constexpr auto kForAnswers = std::chrono::seconds(60);

// Each of these classes opens any number of views of one store.
class InMemory {
 public:
  std::shared_ptr<Store> open() { return store_; }

 private:
  std::shared_ptr<Store> store_ = std::make_shared<HashStore>();
};

class InAFile : public ScratchTest {  // inherits only the folder
 public:
  std::shared_ptr<Store> open() {
    return std::make_shared<FileStore>(scratch_ / "store");
  }
  void TestBody() override {}
};

class OverTcp {
 public:
  std::shared_ptr<Store> open() {
    return std::make_shared<TcpStore>("127.0.0.1", server_.port());
  }

 private:
  TcpStoreServer server_;
};

class BelowAPrefix {
 public:
  std::shared_ptr<Store> open() { return std::make_shared<PrefixStore>("p", store_); }

 private:
  std::shared_ptr<Store> store_ = std::make_shared<HashStore>();
};

template <typename Kind>
class EveryStore : public testing::Test {
 protected:
  std::shared_ptr<Store> open() { return kind_.open(); }

 private:
  Kind kind_;
};
using Kinds = testing::Types<InMemory, InAFile, OverTcp, BelowAPrefix>;
TYPED_TEST_SUITE(EveryStore, Kinds);

TYPED_TEST(EveryStore, GivesToOneWhatAnotherHasSet) {
  const auto a = this->open(), b = this->open();
  const std::string bytes("\0\n\xff LKS3", 8), large(1'000'000, 'x');
  a->set("key", bytes);
  EXPECT_EQ(b->get("key"), bytes);
  b->set("key", "new");
  b->set("", "");
  b->set("large", large);
  EXPECT_EQ(a->get("key"), "new");
  EXPECT_EQ(a->get(""), "");
  EXPECT_EQ(a->get("large", Milliseconds::max()), large);
}

TYPED_TEST(EveryStore, TriesWithoutWaiting) {
  const auto store = this->open();
  EXPECT_EQ(store->try_get("key"), std::nullopt);
  store->set("key", "");
  EXPECT_EQ(store->try_get("key"), "");
}

// Two threads use one object. Each waits for a value that is set only after its wait
// has begun; a waiting call must not block the other thread's calls.
TYPED_TEST(EveryStore, GetWaitsForSet) {
  const auto store = this->open();
  constexpr int rounds = 20;
  std::thread other([&] {
    for (int i = 0; i < rounds; ++i) {
      EXPECT_EQ(store->get("ping" + std::to_string(i), kForAnswers), "?");
      store->set("pong" + std::to_string(i), "!");
    }
  });
  for (int i = 0; i < rounds; ++i) {
    store->set("ping" + std::to_string(i), "?");
    store->wait({"pong" + std::to_string(i)}, kForAnswers);
  }
  other.join();
}

TYPED_TEST(EveryStore, EveryChangeEndsAWait) {
  const auto waits = this->open(), changes = this->open();
  constexpr int rounds = 10;
  std::thread other([&] {
    for (int i = 0; i < rounds; ++i) {
      const std::string round = std::to_string(i);
      waits->set("ready" + round, "");
      waits->wait({"added" + round}, kForAnswers);
      waits->set("ready again" + round, "");
      waits->wait({"compared" + round}, kForAnswers);
    }
  });
  for (int i = 0; i < rounds; ++i) {
    const std::string round = std::to_string(i);
    changes->wait({"ready" + round}, kForAnswers);
    changes->add("added" + round, 1);
    changes->wait({"ready again" + round}, kForAnswers);
    changes->compare_set("compared" + round, "", "x");
  }
  other.join();
}

TYPED_TEST(EveryStore, NamesTheKeysThatDidNotCome) {
  const auto store = this->open();
  store->set("there", "");
  expect_error([&] { store->get("late", milliseconds(20)); }, "late\" after 0.02 s",
               store->describe());
  expect_error([&] { store->get("two\nlines", milliseconds(-1)); }, "two?lines\"");
  try {
    store->wait({"a", "there", "b"}, milliseconds(1));
    FAIL() << "no timeout was thrown";
  } catch (const StoreTimeout& timeout) {
    EXPECT_EQ(timeout.keys().size(), 2u);
    EXPECT_TRUE(timeout.keys()[0].ends_with("a")) << timeout.what();
    EXPECT_TRUE(timeout.keys()[1].ends_with("b")) << timeout.what();
  }
  store->wait({"there"}, milliseconds(0));
  store->wait({}, milliseconds(0));
}

TYPED_TEST(EveryStore, AddLosesNothing) {
  constexpr int threads = 8, times = 25;
  std::vector<int64_t> sums_of[threads];
  std::latch together(threads);  // the threads share nothing else but the store
  std::vector<std::thread> adders;
  for (std::vector<int64_t>& sums : sums_of) {
    adders.emplace_back([&together, &sums, store = this->open()] {
      together.arrive_and_wait();
      for (int n = 0; n < times; ++n) sums.push_back(store->add("counter", 3));
    });
  }
  for (auto& adder : adders) adder.join();
  std::set<int64_t> sums;
  for (const auto& some : sums_of) sums.insert(some.begin(), some.end());
  EXPECT_EQ(sums.size(), size_t{threads * times});
  EXPECT_EQ(this->open()->get("counter"), std::to_string(3 * threads * times));
  EXPECT_EQ(this->open()->add("counter", -1000), 3 * threads * times - 1000);
}

TYPED_TEST(EveryStore, AddsToNumbersOnly) {
  const auto store = this->open();
  store->set("text", "7 dwarfs");
  expect_error([&] { store->add("text", 1); }, "text", "7 dwarfs");
  EXPECT_EQ(store->get("text"), "7 dwarfs");
  const int64_t most = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(store->add("most", most), most);
  expect_error([&] { store->add("most", 1); }, "most", std::to_string(most));
  EXPECT_EQ(store->add("most", 0), most);
}

TYPED_TEST(EveryStore, ComparesAndSetsAsPyTorchDoes) {
  const auto store = this->open();
  EXPECT_EQ(store->compare_set("key", "old", "new"), "old");  // no such key: not set
  EXPECT_EQ(store->try_get("key"), std::nullopt);
  EXPECT_EQ(store->compare_set("key", "", "first"), "first");
  EXPECT_EQ(store->compare_set("key", "", "second"), "first");
  EXPECT_EQ(store->compare_set("key", "first", "second"), "second");
  EXPECT_EQ(store->get("key"), "second");
}

TYPED_TEST(EveryStore, Removes) {
  const auto a = this->open(), b = this->open();
  a->set("key", "x");
  EXPECT_TRUE(b->remove("key"));
  EXPECT_FALSE(a->remove("key"));
  EXPECT_EQ(a->try_get("key"), std::nullopt);
  a->add("key", 1);
  EXPECT_EQ(b->get("key"), "1");
}

TYPED_TEST(EveryStore, EachRankJoinsOnce) {
  const auto a = this->open(), b = this->open();
  const std::string me = "pid " + std::to_string(::getpid());
  a->join(1, 3);
  expect_error([&] { b->join(1, 3); }, "rank 1 joined twice: " + me,
               "and earlier " + me, "its own rank");
  b->join(0, 3);
  a->leave();
  expect_error([&] { b->join(1, 3); }, "rank 1 joined twice");
}

TYPED_TEST(EveryStore, OneWorldSizeHoldsForAll) {
  const auto a = this->open(), b = this->open();
  a->join(1, 3);
  expect_error([&] { b->join(2, 4); }, "rank 2", "world size 4", "rank 1", ") has 3");
  expect_error([&] { b->join(3, 3); }, "rank 3 is out of range for world size 3");
  expect_error([&] { b->join(-1, 3); }, "rank -1");
  expect_error([&] { b->join(0, 0); }, "world size 0");
  b->join(2, 3);
}

TEST(PrefixStore, KeepsItsKeysApart) {
  const auto whole = std::make_shared<HashStore>(milliseconds(7));
  PrefixStore a("a", whole), b("b", whole);
  a.set("key", "of a");
  EXPECT_EQ(b.try_get("key"), std::nullopt);
  EXPECT_EQ(b.add("key", 1), 1);
  EXPECT_EQ(whole->get("a/key"), "of a");
  EXPECT_EQ(whole->get("b/key"), "1");
  EXPECT_EQ(a.compare_set("key", "of a", "new"), "new");
  EXPECT_TRUE(a.remove("key"));
  b.wait({"key"}, milliseconds(0));
  expect_error([&] { a.wait({"key"}, milliseconds(0)); }, "\"a/key\"");
  EXPECT_EQ(a.timeout(), milliseconds(7));
  EXPECT_EQ(a.underlying(), whole);
}

}  // namespace
}  // namespace lockstep::distributed
