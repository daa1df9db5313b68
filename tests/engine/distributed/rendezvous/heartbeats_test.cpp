// Heartbeats: what a rank learns about the others, and that it costs one request
// whatever their number.
// sanitize: address thread
#include "engine/distributed/rendezvous/heartbeats.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "engine/distributed/rendezvous/file_store.h"
#include "engine/distributed/rendezvous/monitor.h"
#include "engine/distributed/rendezvous/tcp_store.h"
#include "tests/base/test_files.h"
#include "tests/engine/distributed/ranks.h"

namespace lockstep::distributed {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const TimePoint kStart = TimePoint() + std::chrono::hours(1);

TEST(StoreHeartbeats, TellWhoIsSilentAndWhoIsBehind) {
  store::Heartbeats beats;
  beats.note({0, 3, 5, "broadcast #5"}, kStart);
  beats.note({2, 3, 7, "all_reduce #7"}, kStart + seconds(4));
  Health health = beats.health(0, kStart + seconds(6), {}, {});
  EXPECT_EQ(health.silent.rank, 1);
  EXPECT_FALSE(health.has_beaten);
  EXPECT_EQ(health.silence, seconds(6));
  EXPECT_EQ(health.last, (Health::Rank{1, -1, "no collective"}));
  EXPECT_EQ(health.first, (Health::Rank{2, 7, "all_reduce #7"}));
  EXPECT_EQ(health.gone.rank, -1);
  EXPECT_EQ(health.failed.rank, -1);

  beats.note({1, 3, 6, "all_reduce #6"}, kStart + seconds(5));
  beats.note({0, 3, 6, "all_reduce #6"}, kStart + seconds(6));
  health = beats.health(0, kStart + seconds(6), {}, {});
  EXPECT_EQ(health.silent, (Health::Rank{2, 7, "all_reduce #7"}));
  EXPECT_TRUE(health.has_beaten);
  EXPECT_EQ(health.silence, seconds(2));
  EXPECT_EQ(health.last.rank, 0);
  EXPECT_EQ(beats.health(2, kStart + seconds(6), {}, {}).silent.rank, 1);
}

TEST(StoreHeartbeats, TellWhoDiedAndWhoFailed) {
  store::Heartbeats beats;
  for (int rank = 0; rank < 4; ++rank) beats.note({rank, 4, rank, "step"}, kStart);
  const Health health =
      beats.health(0, kStart, {{1, "lost"}, {3, "lost"}}, {{0, "mine"}, {1, "full"}});
  EXPECT_EQ(health.failed.rank, 1);
  EXPECT_EQ(health.failure, "full");
  EXPECT_EQ(health.gone, (Health::Rank{3, 3, "step"})) << "rank 1 has said why";
  EXPECT_EQ(beats.health(3, kStart, {{3, "lost"}}, {}).gone.rank, -1);
}

TEST(StoreHeartbeats, RoundTrip) {
  store::Heartbeats beats;
  beats.note({1, 3, 6, "all_reduce #6"}, kStart);
  const Health health =
      beats.health(0, kStart + seconds(2), {{2, "lost"}}, {{1, "no memory"}});
  const Health back = store::health_of(store::fields_of(health));
  EXPECT_EQ(store::fields_of(back), store::fields_of(health));
  EXPECT_EQ(back.failure, "no memory");
  EXPECT_THROW(store::health_of({"1", "2"}), std::runtime_error);
  EXPECT_EQ(store::beat_of({"3", "3", "0", "x"}), std::nullopt);
  EXPECT_EQ(store::beat_of({"-1", "3", "0", "x"}), std::nullopt);
  EXPECT_EQ(store::beat_of({"0", "99999999", "0", "x"}), std::nullopt);
}

/// What each kind of store answers to the beats of ranks 0 and 2 of three.
void expect_health(Store& of_0, Store& of_2) {
  of_0.beat({0, 3, 4, "broadcast #4"});
  of_2.set(failed_key(1), "out of memory");
  const Health health = of_2.beat({2, 3, 9, "all_reduce #9"});
  EXPECT_EQ(health.failed.rank, 1) << of_2.describe();
  EXPECT_EQ(health.failure, "out of memory");
  EXPECT_EQ(health.last.rank, 1);
  EXPECT_EQ(health.first, (Health::Rank{2, 9, "all_reduce #9"}));
  const Health later = of_0.beat({0, 3, 5, "x"});
  EXPECT_EQ(later.first, (Health::Rank{2, 9, "all_reduce #9"}));
  EXPECT_EQ(later.silent.rank, 1);
  EXPECT_FALSE(later.has_beaten);
}

class StoreHealth : public ScratchTest {};

TEST_F(StoreHealth, IsTheSameInAllStores) {
  HashStore hash;
  expect_health(hash, hash);
  TcpStoreServer server;
  TcpStore near("127.0.0.1", server.port()), far("127.0.0.1", server.port());
  expect_health(near, far);
  FileStore a(scratch_ / "store"), b(scratch_ / "store");
  expect_health(a, b);
}

/// Counts the requests to a store.
class CountingStore : public HashStore {
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
  std::optional<std::string> try_get(const std::string& key) override {
    ++requests;
    return HashStore::try_get(key);
  }
  int64_t add(const std::string& key, int64_t amount) override {
    ++requests;
    return HashStore::add(key, amount);
  }
  void wait(const std::vector<std::string>& keys, Milliseconds timeout) override {
    ++requests;
    HashStore::wait(keys, timeout);
  }
  Health beat(const Beat& mine) override {
    ++requests;
    const int beats = ++this->beats;
    Health health = HashStore::beat(mine);
    beats_noted = beats;
    beats_noted.notify_all();
    return health;
  }

  std::atomic<int> requests = 0, beats = 0, beats_noted = 0;
};

/// A communicator for a monitor that watches and never exchanges anything.
class NoCommunicator : public Communicator {
 public:
  explicit NoCommunicator(int size) : size_(size) {}
  int rank() const override { return 0; }
  int size() const override { return size_; }
  const char* algorithm() const override { return "none"; }
  void all_reduce(Buffer, ReduceOp, const Collective&) override {}
  void broadcast(Buffer, int, const Collective&) override {}
  void reduce(Buffer, int, ReduceOp, const Collective&) override {}
  void all_gather(Buffer, Buffer, const Collective&) override {}
  void reduce_scatter(Buffer, Buffer, ReduceOp, const Collective&) override {}
  void send(Buffer, int, const Collective&) override {}
  void recv(Buffer, int, const Collective&) override {}
  void abort(const std::string& why) override { aborted = why; }

  std::string aborted;

 private:
  const int size_;
};

TEST(StoreMonitor, MakesOneRequestPerBeatWhateverTheNumberOfRanks) {
  for (const int ranks : {2, 1000}) {
    const auto store = std::make_shared<CountingStore>();
    ProcessGroup group(std::make_unique<NoCommunicator>(ranks));
    {
      Monitor monitor(store, group, milliseconds(500));
      for (int seen = 0; seen < 3; seen = store->beats_noted) {
        store->beats_noted.wait(seen);
      }
    }
    EXPECT_EQ(store->requests, store->beats) << ranks << " ranks";
  }
}

TEST(StoreMonitor, NamesTheRankThatFailed) {
  const auto store = std::make_shared<HashStore>();
  ProcessGroup group(std::make_unique<NoCommunicator>(3));
  store->set(failed_key(2), "out of memory");
  Monitor monitor(store, group, milliseconds(500));
  EXPECT_EQ(monitor.explain("the connection to rank 1 broke"),
            "rank 2 failed: out of memory");
}

TEST(StoreMonitor, NamesTheRankThatDied) {
  const auto store = std::make_shared<HashStore>();
  ProcessGroup group(std::make_unique<NoCommunicator>(3));
  store->beat({1, 3, 4, "all_reduce #4"});
  store->set(gone_key(1), "connection lost");
  Monitor monitor(store, group, milliseconds(500));
  EXPECT_EQ(monitor.explain("the connection to rank 1 broke"),
            "rank 1 died (it was at all_reduce #4); fix: restart all ranks");
}

/// A store whose host has died.
class LostStore : public HashStore {
 public:
  Health beat(const Beat&) override {
    throw StoreGone("the store at tcp://host:1 (hosted by rank 0) was lost");
  }
};

constexpr const char* kNamesRank0 =
    "rank 0, which hosts the store, hangs or has died: the store at tcp://host:1 "
    "(hosted by rank 0) was lost; fix: restart all ranks";

TEST(StoreMonitor, NamesRank0OnItsOwnThreadIfTheStoreIsLost) {
  ProcessGroup group(std::make_unique<NoCommunicator>(3));
  std::promise<std::string> said;
  std::atomic<bool> first = true;
  Monitor monitor(std::make_shared<LostStore>(), group, milliseconds(500),
                  [&](const std::string& message) {
                    if (first.exchange(false)) said.set_value(message);
                  });
  EXPECT_EQ(said.get_future().get(), kNamesRank0);
}

/// A store that reports a failure and is then lost.
class EndingStore : public HashStore {
 public:
  Health beat(const Beat& mine) override {
    const int before = beats++;
    beats.notify_all();
    if (before == 0) return HashStore::beat(mine);
    throw StoreGone("the store at tcp://host:1 (hosted by rank 0) was lost");
  }

  std::atomic<int> beats = 0;
};

TEST(StoreMonitor, NamesTheRankThatFailedAlsoAfterRank0HasEndedByIt) {
  const auto store = std::make_shared<EndingStore>();
  store->set(failed_key(2), "out of memory");
  ProcessGroup group(std::make_unique<NoCommunicator>(3));
  Monitor monitor(store, group, milliseconds(500));
  for (int seen = 0; seen < 3; seen = store->beats) store->beats.wait(seen);
  for (const char* error : {"the connection to rank 0 broke",
                            "the store at tcp://host:1 (hosted by rank 0) was lost"}) {
    EXPECT_EQ(monitor.explain(error), "rank 2 failed: out of memory");
  }
}

TEST(StoreMonitor, NamesRank0IfTheFailedCallUsedTheStore) {
  ProcessGroup group(std::make_unique<NoCommunicator>(3));
  Monitor monitor(std::make_shared<HashStore>(), group, milliseconds(500));
  EXPECT_EQ(monitor.explain("the store at tcp://host:1 (hosted by rank 0) was lost"),
            kNamesRank0);
}

}  // namespace
}  // namespace lockstep::distributed
