#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

#include "engine/data/dataset.h"
#include "engine/data/sampler.h"
#include "engine/distributed/rendezvous/file_store.h"
#include "engine/distributed/rendezvous/store.h"
#include "lessons/machine/exam.h"
#include "lessons/plugin.h"

struct SeedPlan {
  uint64_t weights, shuffle, augment;
};

namespace lockstep::lessons::lesson_10 {

using distributed::Store;
using distributed::StoreTimeout;

// --- observed ranks

constexpr int kMostCalls = 20;  ///< calls to the store by one rank at one barrier

struct Rank {
  enum class State { away, runs, waits, through, failed } state = State::away;
  bool frozen = false;  ///< it does not notice changes
  int calls = 0;
  std::vector<std::string> missing;  ///< the keys that it waits for
  std::exception_ptr error;
};

/// All ranks. They wait here rather than in a store, so it is known who waits for what.
struct Meeting {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Rank> ranks;
  bool expired = false;  ///< the timeout has passed

  /// Called after a value was written: lets the waiting ranks check again.
  void wake() {
    for (Rank& rank : ranks) {
      if (rank.state == Rank::State::waits && !rank.frozen) {
        rank.state = Rank::State::runs;
      }
    }
    changed.notify_all();
  }
};

/// One rank's store: forwards to another one, and records the rank's calls.
class WatchedStore : public Store {
 public:
  WatchedStore(std::shared_ptr<Store> store, std::shared_ptr<Meeting> meeting, int rank)
      : store_(std::move(store)), meeting_(std::move(meeting)), rank_(rank) {}

  using Store::get;
  using Store::wait;

  void set(const std::string& key, const std::string& value) override {
    write([&] { return store_->set(key, value), 0; });
  }
  int64_t add(const std::string& key, int64_t amount) override {
    return write([&] { return store_->add(key, amount); });
  }
  std::string compare_set(const std::string& key, const std::string& expected,
                          const std::string& desired) override {
    return write([&] { return store_->compare_set(key, expected, desired); });
  }
  bool remove(const std::string& key) override {
    return write([&] { return store_->remove(key); });
  }
  std::optional<std::string> try_get(const std::string& key) override {
    const auto lock = called();
    return store_->try_get(key);
  }
  std::string get(const std::string& key, Milliseconds timeout) override {
    wait({key}, timeout);
    return store_->get(key, Milliseconds(0));
  }
  void wait(const std::vector<std::string>& keys, Milliseconds timeout) override {
    auto lock = called();
    for (;;) {
      Rank& me = meeting_->ranks[rank_];
      me.missing.clear();
      for (const std::string& key : keys) {
        if (!store_->try_get(key)) me.missing.push_back(key);
      }
      if (me.missing.empty()) return;
      if (meeting_->expired) throw StoreTimeout(me.missing, describe(), timeout);
      me.state = Rank::State::waits;
      meeting_->changed.notify_all();
      meeting_->changed.wait(lock, [&] { return me.state == Rank::State::runs; });
    }
  }
  void join(int rank, int world_size) override { store_->join(rank, world_size); }
  void leave() override { store_->leave(); }
  std::string describe() const override { return store_->describe(); }

 private:
  std::unique_lock<std::mutex> called() {
    std::unique_lock lock(meeting_->mutex);
    if (++meeting_->ranks[rank_].calls > kMostCalls)
      throw std::runtime_error("it polls");
    return lock;
  }

  template <typename Change>
  std::invoke_result_t<Change> write(const Change& change) {
    const auto lock = called();
    const auto result = change();
    meeting_->wake();
    return result;
  }

  const std::shared_ptr<Store> store_;
  const std::shared_ptr<Meeting> meeting_;
  const int rank_;
};

/// Ranks as threads. With a file store, every rank has a separate store object.
class World {
 public:
  World(const Exam& exam, int size, bool in_file = false)
      : exam_(exam), size_(size), meeting_(std::make_shared<Meeting>()) {
    meeting_->ranks.resize(size);
    const auto memory = std::make_shared<distributed::HashStore>();
    path_ = std::filesystem::temp_directory_path() /
            fmt::format("lockstep-lesson-10-{}", getpid());
    std::filesystem::remove(path_);
    for (int rank = 0; rank < size; ++rank) {
      std::shared_ptr<Store> store = memory;
      if (in_file) store = std::make_shared<distributed::FileStore>(path_);
      stores_.push_back(std::make_shared<WatchedStore>(store, meeting_, rank));
    }
  }
  ~World() { std::filesystem::remove(path_); }

  /// Makes rank `rank` enter the barrier; returns when every rank waits or has left.
  void enter(int rank, const std::string& name = "step") {
    auto* barrier =
        exam_.function<void(Store&, const std::string&, int)>("store_barrier");
    {
      std::lock_guard lock(meeting_->mutex);
      meeting_->ranks[rank] = Rank{};
      meeting_->ranks[rank].state = Rank::State::runs;
    }
    std::thread([=, store = stores_[rank], meeting = meeting_, size = size_] {
      std::exception_ptr error;
      try {
        barrier(*store, name, size);
      } catch (...) {
        error = std::current_exception();
      }
      std::lock_guard lock(meeting->mutex);
      meeting->ranks[rank].error = error;
      meeting->ranks[rank].state = error ? Rank::State::failed : Rank::State::through;
      meeting->changed.notify_all();
    }).detach();
    settle();
  }

  /// Applies a change to the ranks, and lets those that wait look again.
  void change(const std::function<void(Meeting&)>& how) {
    {
      std::lock_guard lock(meeting_->mutex);
      how(*meeting_);
      meeting_->wake();
    }
    settle();
  }

  /// Returns "through", "waits for step/open/0", or the error of a failed rank.
  std::string tell(int rank) const {
    std::lock_guard lock(meeting_->mutex);
    const Rank& told = meeting_->ranks[rank];
    if (told.state == Rank::State::through) return "through";
    if (!told.error) return fmt::format("waits for {}", fmt::join(told.missing, ", "));
    try {
      std::rethrow_exception(told.error);
    } catch (const std::exception& error) {
      return error.what();
    }
  }
  int through() const {
    std::lock_guard lock(meeting_->mutex);
    return static_cast<int>(
        std::ranges::count(meeting_->ranks, Rank::State::through, &Rank::state));
  }

 private:
  void settle() const {
    std::unique_lock lock(meeting_->mutex);
    meeting_->changed.wait(lock, [&] {
      return std::ranges::count(meeting_->ranks, Rank::State::runs, &Rank::state) == 0;
    });
    for (const Rank& rank : meeting_->ranks) {
      exam_.at_most(
          "calls to the store by one rank at one barrier", kMostCalls, rank.calls,
          {"a rank that asks again and again keeps the store busy, and a single "
           "process runs it for all ranks: wait for a key that the last rank sets",
           "A barrier on a store"});
      if (!rank.error) continue;
      try {
        std::rethrow_exception(rank.error);
      } catch (const NotWritten&) {
        throw;
      } catch (...) {
      }  // the test reports it
    }
  }

  const Exam& exam_;
  const int size_;
  const std::shared_ptr<Meeting> meeting_;
  std::vector<std::shared_ptr<Store>> stores_;
  std::filesystem::path path_;
};

/// Lets ranks 0 and 1 arrive, then rank 2; then all three may leave.
void meet(const Exam& exam, World& world, const std::string& which,
          const Because& too_early) {
  world.change([](Meeting& all) { all.ranks.assign(3, {}); });  // all have left
  world.enter(0);
  world.enter(1);
  exam.at_most("ranks that left " + which + " before rank 2 had arrived, of 3", 0,
               world.through(), too_early);
  world.enter(2);
  for (int rank = 0; rank < 3; ++rank) {
    exam.equal(
        fmt::format("rank {} at {}, when all three have arrived", rank, which),
        std::string("through"), world.tell(rank),
        {"the last of `world_size` arrivals opens the barrier for all. Count them in "
         "the store (add returns 1 for the first): ranks share nothing else",
         "A barrier on a store"});
  }
}

LESSON_TEST(10, waits_for_all, "no rank leaves before the last one has arrived") {
  for (bool in_file : {false, true}) {
    World world(exam, 3, in_file);
    meet(exam, world, "the barrier",
         {"counting the arrivals is only half of a barrier; the other half is waiting "
          "until the count reaches world_size",
          "A barrier on a store"});
  }
}

LESSON_TEST(10, again, "the same barrier works a second and a third time") {
  World world(exam, 3);
  for (const char* which : {"the first", "the second", "the third"}) {
    meet(exam, world, which + std::string(" barrier"),
         {"the key that opened the first barrier is still there, so the second one is "
          "open before any rank arrives: each round needs its own key",
          "The second time"});
  }
}

LESSON_TEST(10, slow_to_leave, "a rank that is slow to leave does not get stuck") {
  World world(exam, 2);
  world.enter(0);
  world.change([](Meeting& all) { all.ranks[0].frozen = true; });
  world.enter(1);
  world.enter(1);  // the next round, before rank 0 has woken up
  world.change([](Meeting& all) { all.ranks[0].frozen = false; });
  exam.equal("rank 0, which wakes up when rank 1 has reached the next barrier",
             std::string("through"), world.tell(0),
             {"cleaning up the old round, or starting the new one with the same key, "
              "removes the key before all ranks have seen it",
              "The second time"});
}

LESSON_TEST(10, names_apart, "barriers with different names are independent") {
  World world(exam, 2);
  world.enter(0, "weights");
  world.enter(1, "data");
  exam.equal(
      "ranks released from a barrier, when one is at \"weights\" and one at \"data\"",
      0, world.through(),
      {"the name must be part of every key, or ranks at different barriers "
       "release each other",
       "The second time"});
}

LESSON_TEST(10, names_the_missing, "if a rank never arrives, the others get an error") {
  World world(exam, 3);
  world.enter(0);
  world.enter(1);
  world.change([](Meeting& all) { all.expired = true; });
  for (int rank : {0, 1}) {
    const std::string told = world.tell(rank);
    exam.that(told != "through", fmt::format("rank {}, after the timeout", rank),
              "StoreTimeout", "it continues as if all ranks had arrived",
              {"a barrier that gives up silently is not a barrier: let StoreTimeout "
               "propagate",
               "When a rank does not arrive"});
    exam.that(told.find("no \"step") != told.npos,
              fmt::format("rank {}'s error message, after the timeout", rank),
              "StoreTimeout's original message with the key", told,
              {"the missing key in the message is all there is to debug with: let "
               "StoreTimeout propagate as it is",
               "When a rank does not arrive"});
  }
}

// --- seeds

SeedPlan plan(const Exam& exam, uint64_t seed, int rank) {
  return (*exam.function<SeedPlan(uint64_t, int)>("seeds_of"))(seed, rank);
}

LESSON_TEST(10, same_weights, "all ranks begin with the same weights") {
  for (uint64_t seed : {0, 1, 42}) {
    for (int rank = 1; rank < 8; ++rank) {
      exam.equal(
          fmt::format("seed of the weights, --seed {}, rank {}", seed, rank),
          plan(exam, seed, 0).weights, plan(exam, seed, rank).weights,
          {"ranks that add the same gradients to different weights train "
           "different networks: a seed that is shared must not depend on the rank",
           "Equal, equal, different"});
    }
  }
}

LESSON_TEST(10, each_sample_once, "in an epoch, each sample is read by one rank") {
  for (int64_t epoch : {0, 1}) {
    std::multiset<int64_t> read;
    for (int rank = 0; rank < 4; ++rank) {
      const auto order =
          std::make_shared<data::RandomSampler>(24, plan(exam, 7, rank).shuffle);
      for (int64_t i : data::DistributedSampler(order, rank, 4).indices(epoch)) {
        read.insert(i);
      }
    }
    const std::set<int64_t> once(read.begin(), read.end());
    exam.at_most(
        "number of the 24 samples that none of the 4 ranks reads", size_t{0},
        24 - once.size(),
        {"each rank takes every fourth sample of one order. If each rank had its own "
         "order, some samples would be read twice and others never",
         "Equal, equal, different"});
  }
}

LESSON_TEST(10, other_crops, "no two ranks use the same crops and flips") {
  std::map<double, int> first;
  for (int rank = 0; rank < 8; ++rank) {
    const double draw = data::Draws(plan(exam, 7, rank).augment, 0, 5).uniform();
    const auto [same, fresh] = first.insert({draw, rank});
    exam.that(
        fresh, fmt::format("rank {}'s first draw for a picture", rank),
        "a value of its own", fmt::format("rank {}'s", same->second),
        {"with one seed for all, every rank draws the same crops and flips in the "
         "same order: the batch looks larger than it is",
         "Equal, equal, different"});
  }
}

LESSON_TEST(10, other_seed, "a different seed gives a different run") {
  std::map<uint64_t, std::string> augment, weights, shuffle;
  const auto fresh = [&](const char* use, auto& seen, uint64_t seed, int rank,
                         uint64_t value) {
    const std::string who = fmt::format("rank {} of --seed {}", rank, seed);
    const auto [same, is_new] = seen.insert({value, who});
    exam.that(is_new, fmt::format("the seed of {}, {}", use, who), "a value of its own",
              "the same as " + same->second,
              {"seed + rank gives rank 1 of run 0 the same seed as rank 0 of run 1, "
               "and a constant makes all runs identical: mix seed, rank and purpose, "
               "as Philox does",
               "Another seed, another run"});
  };
  for (uint64_t seed = 0; seed < 10; ++seed) {
    for (int rank = 0; rank < 8; ++rank) {
      fresh("the crops", augment, seed, rank, plan(exam, seed, rank).augment);
    }
    fresh("the weights", weights, seed, 0, plan(exam, seed, 0).weights);
    fresh("the order", shuffle, seed, 0, plan(exam, seed, 0).shuffle);
  }
}

}  // namespace lockstep::lessons::lesson_10
