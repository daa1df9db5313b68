#include <random>
#include <utility>

#include "lessons/machine/exam.h"
#include "lessons/machine/server_by_hand.h"
#include "lessons/machine/server_runs.h"
#include "lessons/machine/server_too_late.h"

namespace lockstep::lessons::lesson_22 {

using sharing::Consistency;

constexpr const char *kAsync = "Each gradient an update", *kSync = "One update for all",
                     *kLate = "Too late", *kPull = "Who may pull",
                     *kSsp = "Not too far ahead", *kStale = "Bounded, but by how much?";

// --- async

LESSON_TEST(22, of_its_own, "async, ssp: each gradient is an update of its own") {
  std::mt19937_64 random(exam.seed());
  for (const auto& [word, consistency] :
       {std::pair{"async", Consistency::async}, {"ssp", Consistency::ssp}}) {
    const int workers = 2 + static_cast<int>(random() % 5);
    ServerByHand server(workers, {consistency, 0});
    size_t updates = 0;
    for (int round = 0; round < 3; ++round) {
      for (const int worker : drawn_order(workers, random)) {
        server.push(worker);
        const std::string what =
            fmt::format("{}, {} workers: the gradient of worker {} (seed {})", word,
                        workers, worker, exam.seed());
        exam.that(server.discarded().empty(), what, "an update", "it is discarded",
                  {"others have made updates since it was computed. It is stale, but "
                   "it is used: only sync has reasons to discard one",
                   kAsync});
        expect_update(
            exam, what, server, ++updates, {{worker}, 1},
            {"an update does not wait for other gradients: this worker's one makes it",
             kAsync},
            server.scale() == 1
                ? Because{"the update is made of this gradient alone", kAsync}
                : Because{"nothing is averaged here: one gradient is one update, as it "
                          "is. If that is too far, divide the learning rate",
                          kAsync});
      }
      for (int worker = 0; worker < workers; ++worker) server.pull(worker);
    }
  }
}

LESSON_TEST(22, nobody_waits, "async: nobody waits") {
  std::mt19937_64 random(exam.seed());
  ServerByHand server(2 + static_cast<int>(random() % 5), {Consistency::async});
  for (int step = 0; step < 50; ++step) {
    exam.that(server.may_pull(0),
              fmt::format("async: worker 0 asks for the weights after {} steps; the "
                          "others have made none",
                          step),
              "it gets them", "it waits",
              {"with async a worker never waits for others", kPull});
    server.pull(0);
    server.push(0);
  }
}

// --- sync

LESSON_TEST(22, all_of_them, "sync: one update, the mean of all gradients") {
  std::mt19937_64 random(exam.seed());
  for (const int workers : {4, 1, 3, 2 + static_cast<int>(random() % 7)}) {
    ServerByHand server(workers, {Consistency::sync});
    const std::vector<int> each = server.workers();
    const std::set<int> all(each.begin(), each.end());
    for (size_t round = 0; round < 3; ++round) {
      int arrived = 0;
      for (const int worker : drawn_order(workers, random)) {
        server.pull(worker);
        server.push(worker);
        if (++arrived == workers) break;
        exam.at_most(
            fmt::format("sync: updates when {} of {} gradients have arrived, in step "
                        "{} (seed {})",
                        arrived, workers, round, exam.seed()),
            round, server.made().size(),
            {"sync waits for the gradients of all workers, and makes one update of "
             "them",
             kSync});
      }
      expect_update(
          exam,
          fmt::format("sync: the update when {} of {} gradients of step {} have "
                      "arrived (seed {})",
                      workers, workers, round, exam.seed()),
          server, round + 1, {all, 1.0 / workers},
          {"the last gradient has arrived: the update is due now, and it is one",
           kSync},
          server.scale() == 1
              ? Because{"this is the sum, and goes N times as far as DDP's step: an "
                        "update is the mean",
                        kSync}
              : Because{"the mean of the gradients of all workers", kSync});
    }
  }
}

LESSON_TEST(22, side_by_side, "sync: each server has gradients of its own") {
  ServerByHand first(3, {Consistency::sync}), second(3, {Consistency::sync});
  for (size_t round = 0; round < 2; ++round) {
    for (const int worker : {2, 0, 1}) {
      for (ServerByHand* server : {&first, &second}) {
        server->pull(worker);
        server->push(worker);
        exam.equal(
            fmt::format("two servers side by side: updates of the {} one after step {} "
                        "of worker {}, where worker 1 is the last of 3",
                        server == &first ? "first" : "second", round, worker),
            round + (worker == 1 ? 1 : 0), server->made().size(),
            {"all servers share a `static` or global variable, and each of them needs "
             "a number of its own: what has arrived at a server is `server.arrived()`",
             kSync});
      }
    }
  }
}

LESSON_TEST(22, after_the_update, "sync: a worker gets the weights after its update") {
  ServerByHand server(3, {Consistency::sync});
  for (int worker = 0; worker < 3; ++worker) {
    exam.that(server.may_pull(worker),
              fmt::format("sync: worker {} asks for the weights to begin with", worker),
              "it gets them", "it waits, and nobody ever pushes",
              {"it has sent nothing that an update could be made of", kPull});
    server.pull(worker);
  }
  server.push(1);
  exam.that(
      !server.may_pull(1),
      "sync: worker 1 has pushed, workers 0 and 2 have not. Worker 1 asks", "it waits",
      "it gets the weights of before the update",
      {"its own gradient still waits for an update: the weights are those that it "
       "has had, and it would send a second gradient for them",
       kPull});
  exam.that(server.may_pull(0),
            "sync: worker 0 asks once more; the gradient of worker 1 waits",
            "it gets them", "it waits",
            {"the update waits for worker 0. It must not wait for the update", kPull});
  server.push(0);
  exam.that(!server.may_pull(0) && !server.may_pull(1),
            "sync: workers 0 and 1 have pushed, worker 2 has not. They ask",
            "they wait", "one gets the weights of before the update",
            {"their own gradients still wait for an update", kPull});
  server.push(2);
  for (const int worker : {2, 0, 1}) {
    exam.that(server.may_pull(worker),
              fmt::format("sync: all have pushed. Worker {} asks", worker),
              "it gets the new weights", "it waits",
              {"the update is made, and nobody is waited for", kPull});
  }
}

LESSON_TEST(22, too_late, "sync with a backup worker: who comes too late") {
  for (const int more : {0, 1}) check_too_late(exam, more);
}

LESSON_TEST(22, who_has_left, "sync: nobody waits for a worker that has left") {
  check_who_has_left(exam);
}

// --- with tensors

LESSON_TEST(22, equals_ddp, "sync on real servers: the weights are DDP's") {
  std::mt19937_64 random(exam.seed());
  const int workers = 3;
  const double lr = 0.1, momentum = 0.9;
  std::vector<double> expected = drawn(7, random), buffer(7, 0);
  Servers servers(workers, Consistency::sync, expected,
                  optim::SgdOptions{lr, momentum, 0});
  for (int step = 0; step < 4; ++step) {
    std::vector<std::vector<double>> gradients;
    for (int worker = 0; worker < workers; ++worker) {
      exam.close(fmt::format("weights of worker {} before step {}, 3 workers and 2 "
                             "servers, as with DDP (seed {})",
                             worker, step, exam.seed()),
                 expected, servers.pull(worker), 1e-12,
                 {"the optimizer's step with the mean of three gradients", kSync});
      gradients.push_back(drawn(7, random));
    }
    for (const int worker : drawn_order(workers, random)) {
      servers.push(worker, gradients[worker], lr);
    }
    for (size_t i = 0; i < expected.size(); ++i) {
      double mean = 0;
      for (const auto& gradient : gradients) mean += gradient[i] / workers;
      buffer[i] = momentum * buffer[i] + mean;
      expected[i] -= lr * buffer[i];
    }
  }
}

LESSON_TEST(22, one_worker, "one worker: plain SGD, bit by bit") {
  expect_plain_sgd(exam, "sync", Consistency::sync);
  expect_plain_sgd(exam, "async", Consistency::async);
}

// --- in training

const tracer::Trace& trained(Exam& exam, const std::string& consistency) {
  return exam.train(
      "-a resnet18 --dataset generated --device-type null --devices 3 -b 6 -j 0 "
      "--steps 4 --trace-steps 0:4 --mode ps --servers 2 --consistency " +
          consistency,
      {"three workers train one ResNet18 on two servers with your functions; the run's "
       "output is printed below",
       "What the trace shows"});
}

LESSON_TEST(22, resnet_waits, "ResNet18, sync: one update a step, and none is stale") {
  const std::vector<Made> made = updates_of(trained(exam, "sync"));
  exam.equal("sync: updates of a server in four steps of three workers", size_t{4},
             made.size(), {"one for each step, of three gradients", kSync});
  exam.equal(
      "sync: staleness of all updates together", int64_t{0}, staleness_of(made),
      {"each update is made of gradients for the weights that it changes", kLate});
}

// --- ssp

LESSON_TEST(22, not_too_far, "ssp: who is too far ahead waits") {
  std::mt19937_64 random(exam.seed());
  for (const int64_t bound : {0, 1, 2, 5}) {
    const int workers = 3;
    const auto asks = [&](int64_t ahead, bool left, int64_t updates) {
      ServerByHand server(workers, {Consistency::ssp, bound});
      for (int64_t i = 0; i < updates; ++i) server.push(2);
      const auto slowest = static_cast<int64_t>(random() % 10);
      server.set_clock(0, slowest + ahead);
      server.set_clock(1, slowest);
      server.set_clock(2, slowest + ahead + 1);
      if (left) server.leave(1), server.leave(2);
      return server.may_pull(0);
    };
    const auto which = [&](int64_t ahead) {
      return fmt::format(
          "ssp with staleness {}: a worker asks that is {} step{} ahead "
          "of the slowest",
          bound, ahead, ahead == 1 ? "" : "s");
    };
    const char* const fastest = ", and 1 step behind the fastest";
    exam.that(asks(bound, false, 0), which(bound) + fastest, "it gets the weights",
              "it waits",
              {fmt::format("{} steps ahead is allowed, more is not. It does not matter "
                           "how far others are ahead of it",
                           bound),
               kSsp});
    exam.that(!asks(bound + 1, false, 0), which(bound + 1) + fastest, "it waits",
              "it gets the weights",
              {"the bound is on how far it is ahead when it pulls, of the slowest "
               "worker, not of any other",
               kSsp});
    exam.that(asks(0, false, 30),
              which(0) + ", and 30 updates came since its last pull",
              "it gets the weights", "it waits",
              {"clocks count a worker's own steps, versions all updates. A worker that "
               "has old weights should pull, not wait: the bound is on clocks",
               kSsp});
    exam.that(asks(bound + 9, true, 0), which(bound + 9) + ", and all others have left",
              "it gets the weights", "it waits for workers that make no more steps",
              {"only `server.workers()` can still catch up; there may be none", kSsp});
  }
  ServerByHand without_0(3, {Consistency::ssp, 1});
  without_0.set_clock(1, 5), without_0.set_clock(2, 6);
  without_0.leave(0);
  for (const int worker : {1, 2}) {
    exam.that(
        without_0.may_pull(worker),
        fmt::format("ssp with staleness 1: worker {} asks. Worker 0 has left, and "
                    "workers 1 and 2 have made 5 and 6 steps",
                    worker),
        "it gets the weights", "it waits",
        {"`server.workers()` is [1, 2]: the numbers of the workers, not 0, 1, … "
         "up to its size",
         kSsp});
  }
  ServerByHand nobody(2, {Consistency::ssp, 1});
  nobody.set_clock(0, 7);
  nobody.leave(0), nobody.leave(1);
  exam.that(nobody.may_pull(0), "ssp: a worker asks when `server.workers()` is empty",
            "it gets the weights", "it waits",
            {"nobody makes steps any more: there is no one to wait for", kSsp});
  ServerByHand server(4, {Consistency::ssp, 2});
  int steps = 0;
  for (; steps < 50 && server.may_pull(3); ++steps) server.pull(3), server.push(3);
  exam.equal(
      "steps that a worker makes while another one makes none, ssp with "
      "staleness 2",
      3, steps,
      {"it may pull when it is 0, 1 or 2 steps ahead, not when it is 3", kSsp});
}

LESSON_TEST(22, one_worker_ssp, "ssp, one worker: plain SGD, bit by bit") {
  expect_plain_sgd(exam, "ssp", Consistency::ssp);
}

LESSON_TEST(22, all_speeds, "ssp: workers of all speeds, and nobody waits forever") {
  std::mt19937_64 random(exam.seed());
  for (int run = 0; run < 20; ++run) {
    const auto bound = static_cast<int64_t>(random() % 4);
    const int workers = 2 + static_cast<int>(random() % 4);
    ServerByHand server(workers, {Consistency::ssp, bound});
    std::vector<int64_t> takes(workers);
    for (int64_t& time : takes) time = 1 + static_cast<int64_t>(random() % 9);
    takes[0] = 1, takes[1] = 30;
    const auto [furthest, least] = paced(server, takes);
    const std::string which = fmt::format(
        "ssp with staleness {}, {} workers, the slowest 30 times as slow as "
        "the fastest (seed {})",
        bound, workers, exam.seed());
    exam.equal(which + ": steps by which one is ahead when it pulls, at most", bound,
               furthest, {"as far as is allowed, and no further", kSsp});
    exam.that(least >= 8, which + ": steps of the slowest in 300 units of time",
              "at least 8", std::to_string(least),
              {"the slowest worker never waits: nobody is behind it", kSsp});
  }
}

LESSON_TEST(22, worst_case, "how stale a gradient can become with ssp") {
  auto* const most = exam.function<int64_t(int, int64_t)>("lesson_most_stale");
  std::mt19937_64 random(exam.seed());
  std::vector<std::pair<int, int64_t>> cases{{3, 2}, {1, 3}, {2, 0}, {4, 0}, {2, 1}};
  for (int i = 0; i < 4; ++i) cases.emplace_back(1 + random() % 6, random() % 9);
  for (const auto& [workers, bound] : cases) {
    const int64_t others = stalest(workers, bound);
    const int64_t got = most(workers, bound);
    exam.equal(
        fmt::format("staleness of the stalest gradient of {} worker{}, ssp with "
                    "staleness {} (seed {})",
                    workers, workers == 1 ? "" : "s", bound, exam.seed()),
        others, got,
        got == (workers - 1) * (bound + 1) && bound > 0
            ? Because{"the others need not be where this worker is: they may be as far "
                      "behind it as is allowed when it pulls, and as far ahead when it "
                      "pushes",
                      kStale}
        : got == bound
            ? Because{"the bound is on steps ahead, not on updates in between: with 0, "
                      "each of the others still makes one",
                      kStale}
            : Because{
                  "take one other worker: how many steps can it make, from as far "
                  "behind as is allowed, to the end of its last step? Then take all "
                  "others",
                  kStale});
  }
}

LESSON_TEST(22, resnet_is_bounded, "ResNet18, ssp: staleness is bounded") {
  auto* const most = exam.function<int64_t(int, int64_t)>("lesson_most_stale");
  const std::vector<Made> made =
      updates_of(trained(exam, "ssp --staleness 1 --slow-rank 2:3x"));
  exam.equal("ssp: updates of a server in four steps of three workers", size_t{12},
             made.size(), {"each gradient is an update", kAsync});
  for (const Made& one : made) {
    exam.at_most(
        fmt::format("staleness of update {} by worker {}", one.version, one.worker),
        most(3, 1), one.version - 1 - one.read_version,
        {"more than your most_stale(3, 1)", kStale});
  }
}

}  // namespace lockstep::lessons::lesson_22
