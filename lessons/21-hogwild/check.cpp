#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <thread>
#include <utility>

#include "engine/sharing/shared_access.h"
#include "lessons/machine/exam.h"
#include "lessons/machine/predicates.h"
#include "lessons/machine/shared_by_hand.h"

namespace lockstep::lessons::lesson_21 {

using sharing::LockFor;

constexpr const char *kStep = "A step, not a value", *kStore = "Load, add, store",
                     *kAdd = "Try again", *kLock = "The lock",
                     *kShort = "A shorter lock", *kStale = "How stale is a gradient?";

double moved(const Exam& exam, double now, double read, double next) {
  return exam.function<double(double, double, double)>("lesson_moved")(now, read, next);
}

// --- one weight

LESSON_TEST(21, a_step, "a step moves a weight from where it is now") {
  std::mt19937_64 random(exam.seed());
  const auto draw = [&] { return std::uniform_real_distribution(-2.0, 2.0)(random); };
  for (int i = 0; i < 200; ++i) {
    const double read = draw(), next = draw(), now = draw();
    exam.close(
        fmt::format("a weight that is {} and was read as {}; the optimizer made "
                    "it {} (seed {})",
                    now, read, next, exam.seed()),
        {now + (next - read)}, {moved(exam, now, read, next)}, 1e-15,
        {"others' steps must stay: the weight moves by next − read, from where it "
         "is now",
         kStep});
    const double unchanged = moved(exam, read, read, next);
    exam.that(
        unchanged == next,
        fmt::format("a weight that is still {}; the optimizer made it {} (seed {})",
                    read, next, exam.seed()),
        fmt::format("{:.17g}, bit by bit", next), fmt::format("{:.17g}", unchanged),
        {"read + (next − read) is rounded twice and need not be next: with one "
         "worker, training would differ from training on one device",
         kStep});
  }
  for (const double change : {1e-3, 1e-6, 1e-9, 1e-12}) {
    const double read = draw(), next = draw(), now = read + change;
    exam.close(
        fmt::format("a weight that was read as {}; another worker has moved it by {}, "
                    "and the optimizer made it {} (seed {})",
                    read, change, next, exam.seed()),
        {now + (next - read)}, {moved(exam, now, read, next)}, 1e-15,
        {"a weight that has changed a little has changed: steps are small, and the "
         "other worker's would be lost",
         kStep});
  }
}

LESSON_TEST(21, store_alone, "store: a weight that nobody else changes") {
  WeightByHand weight(5);
  const bool lost = weight.store(exam, 5, 7);
  exam.close("the weight, from 5 to 7", {7}, {weight.value()}, 0,
             {"load, move, store", kStore});
  exam.equal("an update was overwritten, it says", false, lost,
             {"`exchange` returns what was there. That is what was loaded, unless "
              "another worker came in between",
              kStore});
  WeightByHand later(6);  // another worker's step came between the read and the load
  exam.equal(
      "an update was overwritten, it says (a worker came before the load)", false,
      later.store(exam, 5, 7),
      {"what others did before the load is not lost: the step starts from there. "
       "Compare with what was loaded, not with what was read",
       kStore});
  exam.close("the weight, moved by 2, after another worker moved it from 5 to 6", {8},
             {later.value()}, 0, {"a step is added to what is there", kStep});
  exam.equal(
      "loads and stores of one step", 2, later.accesses(),
      {"one load and one store: an optimizer on shared memory does no more", kStore});
}

LESSON_TEST(21, store_loses, "store: notices that it has overwritten an update") {
  for (const double other : {9.0, 4.0, 5 + 1e-9}) {
    WeightByHand weight(5);
    weight.others = [&](int accesses) {
      if (accesses == 1) weight.set(other);  // between the load and the store
    };
    const bool lost = weight.store(exam, 5, 7);
    exam.equal(
        "loads and stores of one step, if an update was overwritten", 2,
        weight.accesses(),
        {"one load and one store, whatever they find: it is noticed, not repaired",
         kStore});
    exam.close(
        fmt::format("the weight: loaded as 5, then another worker stores {}, then 7 is "
                    "stored",
                    other),
        {7}, {weight.value()}, 0,
        {weight.exchanges() == 0
             ? "a compare-exchange does not store if the weight has changed: PyTorch's "
               "optimizers store whatever it is, as `exchange` does"
             : "load, move, store: nothing in this holds others back",
         kStore});
    exam.equal(
        fmt::format("an update was overwritten, it says (another worker had "
                    "stored {} after 5 was loaded)",
                    other),
        true, lost,
        {"`exchange` returns what it overwrites, and that is not what was loaded, "
         "however small the difference is, up or down",
         kStore});
  }
}

LESSON_TEST(21, add_keeps, "add: no step is lost, whenever another worker comes") {
  // Others add 10 before this worker's accesses with the numbers in `when`; 0 is the
  // first one.
  for (const std::set<int>& when :
       {std::set<int>{}, {0}, {1}, {1, 2}, {2, 3}, {1, 2, 3, 4}}) {
    WeightByHand weight(5);
    double sent = 2;
    weight.others = [&](int accesses) {
      if (!when.contains(accesses)) return;
      weight.set(weight.value() + 10);
      sent += 10;
    };
    weight.add(exam, 5, 7);
    exam.close(fmt::format("the weight, 5 at first: this worker's step adds 2, and "
                           "others add {} in all",
                           sent - 2),
               {5 + sent}, {weight.value()}, 0, why_not_added(weight));
    exam.equal("how often this worker changed the weight", 1, weight.stores(),
               {"one step, stored once. What is stored first and repaired afterwards "
                "is wrong in between, and others may read it",
                kAdd});
  }
}

LESSON_TEST(21, add_again, "add: a compare-exchange may fail without a reason") {
  WeightByHand weight(5);
  weight.fails = [](int exchange) { return exchange < 3; };
  weight.add(exam, 5, 7);
  exam.close(
      "the weight, from 5 to 7, after three exchanges that failed", {7},
      {weight.value()}, 0,
      {"a failure says that nothing was stored, not that somebody else was there: "
       "it is a loop, not an if",
       kAdd});
  constexpr int kFailures = 5000;
  WeightByHand busy(5);
  busy.most = 3 * kFailures;
  busy.fails = [](int exchange) { return exchange < kFailures; };
  busy.add(exam, 5, 7);
  exam.close(
      fmt::format("the weight, from 5 to 7, after {} exchanges that failed", kFailures),
      {7}, {busy.value()}, 0,
      {"as often as needed: a loop that gives up loses the step", kAdd});
}

LESSON_TEST(21, all_load_first, "four workers load before any of them stores") {
  const int workers = 4;
  const auto run = [&](bool adds) {
    // Worker i begins when worker i − 1 has loaded the weight.
    WeightByHand shared(0);
    int lost = 0;
    std::function<void(int)> one = [&](int worker) {
      if (worker == workers) return;
      WeightByHand mine(0);  // this worker's view of the shared weight
      mine.set(shared.value());
      bool begun = false;  // the next worker
      mine.others = [&](int accesses) {
        if (accesses == 0) return;
        if (!std::exchange(begun, true)) one(worker + 1);
        mine.set(shared.value());
      };
      if (adds) {
        mine.add(exam, 0, std::pow(10, worker));
      } else {
        lost += mine.store(exam, 0, std::pow(10, worker));
      }
      shared.set(mine.value());
      if (!begun) one(worker + 1);
    };
    one(0);
    return std::pair(shared.value(), lost);
  };
  const auto [stored, lost] = run(false);
  exam.close("the weight after steps of 1, 10, 100 and 1000, by store_step", {1},
             {stored}, 0, {"the first to load is the last to store", kStore});
  exam.equal("workers that say that they have overwritten an update", 3, lost,
             {"all but the one that stored first", kStore});
  const double added = run(true).first;
  const std::string digits = std::to_string(std::lround(1111 - added));
  const auto missing = std::count(digits.begin(), digits.end(), '1');
  exam.close(fmt::format("the weight after steps of 1, 10, 100 and 1000, by add_step "
                         "({} lost)",
                         missing),
             {1111}, {added}, 0, {"what is sent must arrive", kAdd});
}

LESSON_TEST(21, sums_add_up, "add, by four threads: what is sent arrives") {
  constexpr int kThreads = 4, kSteps = 5000;
  std::atomic<double> weight{0};
  const std::function<double()> load = [&] { return weight.load(); };
  const std::function<double(double)> exchange = [&](double value) {
    return weight.exchange(value);
  };
  const std::function<bool(double&, double)> compare_exchange = [&](double& expected,
                                                                    double value) {
    return weight.compare_exchange_weak(expected, value);
  };
  auto* const add = exam.function<void(
      const std::function<double()>&, const std::function<double(double)>&,
      const std::function<bool(double&, double)>&, double, double)>("lesson_add");
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kSteps; ++i) {
        const double read = weight.load();
        add(load, exchange, compare_exchange, read, read + 1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  exam.close("a weight to which four threads have added 1, 5,000 times each",
             {kThreads * kSteps}, {weight.load()}, 0,
             {"some steps were lost between a load and a store", kAdd});
}

// --- the lock

LESSON_TEST(21, hogwild, "without a lock: read, compute, apply") {
  const Turn got = turn(LockFor::nothing);
  expect_turn(exam, "nothing", "read compute apply", got,
              {"Hogwild holds no lock at any time", "No lock"});
  exam.equal("version that begin_step returns", int64_t{41}, got.version,
             {"the version that model.read() returned", kStale});
  exam.equal("version that end_step passes to model.apply", int64_t{41}, got.applied,
             {"the gradients belong to the version that was read", kStale});
  exam.equal("what end_step returns: the version of the update, and what was lost",
             std::vector<int64_t>{43, 3},
             std::vector<int64_t>{got.update.version, got.update.lost},
             {"what model.apply() returned", kStale});
}

LESSON_TEST(21, for_the_step, "the lock for a step is held from read to apply") {
  expect_turn(exam, "step", "acquire read compute apply release", turn(LockFor::step),
              {"no other worker may come between the read and the update: acquired "
               "before the one, released after the other",
               kLock});
}

LESSON_TEST(21, for_the_update, "the lock for an update is not held while computing") {
  const Turn got = turn(LockFor::update);
  exam.at_most(
      "workers that hold the lock while they compute", 0,
      static_cast<int>(got.held_in_compute),
      {"nobody computes at the same time as this one: that is the lock for the "
       "whole step",
       kShort});
  expect_turn(
      exam, "update", "acquire read release compute acquire apply release", got,
      {"both the read and the update need the lock: a worker that reads without it "
       "may get the weights of half an update",
       kShort});
}

const tracer::Trace& trained(Exam& exam, const std::string& mode) {
  return exam.train(
      "-a resnet18 --dataset generated --device-type null --devices 3 -b 6 -j 0 "
      "--momentum 0 --steps 4 --trace-steps 0:4 " +
          mode,
      {"three workers train one ResNet18 with your functions; the run's output is "
       "printed below",
       "What the trace shows"});
}

void expect_versions(Exam& exam, const std::vector<WorkerUpdate>& made) {
  exam.that(made.size() >= 9, "updates by three workers of ResNet18", "at least 9",
            std::to_string(made.size()),
            {"each worker's step ends with an update", "What the trace shows"});
  for (size_t i = 1; i < made.size(); ++i) {
    exam.equal("version that an update makes", made[0].version + int64_t(i),
               made[i].version, {"every update makes a version of its own", kStale});
  }
}

LESSON_TEST(21, in_turn, "ResNet18, three workers: with the lock they take turns") {
  const std::vector<WorkerUpdate> made =
      updates_by_workers(trained(exam, "--mode locked --lock step"));
  expect_versions(exam, made);
  int64_t stale = 0;
  for (const WorkerUpdate& one : made) stale += one.version - 1 - one.read_version;
  exam.at_most(
      "staleness of all updates together, with the lock for the whole step", int64_t{0},
      stale,
      {"another worker has updated the weights between a worker's read and its "
       "update: the lock was not held all the time",
       kLock});
}

// --- staleness

LESSON_TEST(21, in_between, "staleness counts the updates of others in between") {
  auto* const staleness = exam.function<int64_t(int64_t, int64_t)>("lesson_staleness");
  const Because because{
      "versions read + 1 to v − 1 are the updates of others in between, all of them. "
      "If the worker had read version v − 1, nobody came in between, and its staleness "
      "is 0",
      kStale};
  exam.equal("staleness of the update that made version 8, if version 7 was read",
             int64_t{0}, staleness(7, 8), because);
  exam.equal("staleness of the update that made version 1, if version 0 was read",
             int64_t{0}, staleness(0, 1), because);
  std::mt19937_64 random(exam.seed());
  for (int i = 0; i < 20; ++i) {
    const auto read = static_cast<int64_t>(random() % 1000);
    const auto others = static_cast<int64_t>(random() % (i < 10 ? 10 : 1000));
    exam.equal(
        fmt::format("staleness of the update that made version {}, if version {} "
                    "was read",
                    read + others + 1, read),
        others, staleness(read, read + others + 1), because);
  }
}

LESSON_TEST(21, mean_of_all,
            "three workers without a lock: N - 1, if they take turns") {
  auto* const staleness = exam.function<int64_t(int64_t, int64_t)>("lesson_staleness");
  // Each worker reads as soon as it has updated; the order of updates is drawn.
  std::mt19937_64 random(exam.seed());
  for (const int workers : {1, 2, 3, 8}) {
    std::vector<int64_t> read(workers, 0);
    int64_t sum = 0, version = 0;
    constexpr int kUpdates = 4000;
    for (int i = 0; i < kUpdates; ++i) {
      const auto worker = random() % workers;
      sum += staleness(read[worker], ++version);
      read[worker] = version;
    }
    // What the last reads have not yet seen is all that is missing to N − 1.
    for (const int64_t last : read) sum += version - last;
    exam.equal(
        fmt::format("staleness of {} updates by {} workers in any order, with "
                    "what is still to come",
                    kUpdates, workers),
        int64_t{workers - 1} * kUpdates, sum,
        {"each update makes the gradient of every other worker staler by one: N − "
         "1 for each update, whatever the workers' speeds",
         kStale});
  }
  const std::vector<WorkerUpdate> made =
      updates_by_workers(trained(exam, "--mode hogwild"));
  expect_versions(exam, made);
  for (const WorkerUpdate& one : made) {
    exam.equal(
        fmt::format("staleness of update {} of ResNet18, by worker {}", one.version,
                    one.worker),
        one.version - 1 - one.read_version, staleness(one.read_version, one.version),
        {"`read_version` and `version` of the optimizer phase in the trace", kStale});
  }
}

}  // namespace lockstep::lessons::lesson_21
