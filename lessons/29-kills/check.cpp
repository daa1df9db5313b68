#include <algorithm>
#include <memory>
#include <random>
#include <utility>

#include "engine/distributed/collectives/communicator.h"
#include "engine/distributed/rendezvous/monitor.h"
#include "lessons/machine/blame_reasons.h"
#include "lessons/machine/exam.h"

namespace lockstep::lessons::lesson_29 {

/// Returns what the learner's function says.
Blame asked(const Evidence& evidence) {
  return distributed::blame_slot().in_use()(evidence);
}

void expect(const Exam& exam, const Evidence& evidence, const Blame& expected,
            const std::string& origin = "") {
  const Blame got = asked(evidence);
  if (got == expected) return;
  exam.that(false, "who is to blame" + origin + ": " + in_words(evidence),
            in_words(expected), in_words(got), why_not(evidence, expected, got));
}

/// Ranks in these collectives, all alive, one of whose collectives has timed out.
Evidence ranks_in(const std::vector<int64_t>& seqs) {
  Evidence evidence;
  for (size_t rank = 0; rank < seqs.size(); ++rank) {
    evidence.ranks.push_back({.rank = static_cast<int>(rank), .seq = seqs[rank]});
  }
  evidence.patience = Milliseconds(500);
  evidence.timed_out = true;
  return evidence;
}

Evidence with(Evidence evidence, int rank, End end) {
  evidence.ranks[rank].end = end;
  return evidence;
}

Evidence with(Evidence evidence, int rank, int silence, bool has_beaten = true) {
  evidence.ranks[rank].silence = Milliseconds(silence);
  evidence.ranks[rank].has_beaten = has_beaten;
  return evidence;
}

Evidence in_time(Evidence evidence) {
  evidence.timed_out = false;
  return evidence;
}

/// What a rank knows before a call of its own has failed.
Evidence no_hurry(Evidence evidence) {
  evidence.patience = Milliseconds::max();
  return in_time(evidence);
}

LESSON_TEST(29, only_waiting, "ranks that only wait are not blamed") {
  expect(exam, ranks_in({7, 7, 7}), {});
  expect(exam, ranks_in({-1, -1}), {});
  expect(exam, with(ranks_in({7, 7, 7}), 1, 499), {});
  expect(exam, in_time(ranks_in({7, 7, 6, 7})), {});
  expect(exam, in_time(with(ranks_in({7, 5, 6}), 2, 300)), {});
  expect(exam, in_time(with(ranks_in({0, 0, -1}), 2, 300, false)), {});
  expect(exam, ranks_in({4}), {});
  expect(exam, no_hurry(with(ranks_in({7, 6, 7}), 2, 400)), {});
}

LESSON_TEST(29, slow, "a rank that is alive and behind, after a timeout") {
  expect(exam, ranks_in({7, 7, 6, 7}), {What::behind, 2});
  expect(exam, ranks_in({6, 7, 7}), {What::behind, 0});
  expect(exam, ranks_in({7, 7, 6, 5}), {What::behind, 3});
  expect(exam, ranks_in({9, 5, 8, 5}), {What::behind, 1});
  expect(exam, ranks_in({0, 0, -1}), {What::behind, 2});
  expect(exam, with(ranks_in({7, 7, 6, 7}), 1, 499), {What::behind, 2});
  expect(exam, with(ranks_in({7, 7, 6, 7}), 2, 300), {What::behind, 2});
  expect(exam, with(ranks_in({7, 6, -1}), 2, 300, false), {What::behind, 2});
  expect(exam, ranks_in({9, 5, 5}), {What::behind, 1});
  expect(exam, ranks_in({7, 6}), {What::behind, 1});
  const int64_t many = int64_t{1} << 31;
  expect(exam, ranks_in({many, many - 1, many}), {What::behind, 1});
}

LESSON_TEST(29, silent, "a rank whose heartbeats have stopped") {
  expect(exam, with(ranks_in({7, 7, 6}), 2, 600), {What::hangs, 2});
  expect(exam, with(ranks_in({7, 7, 6}), 1, 600), {What::hangs, 1});
  expect(exam, with(ranks_in({7, 7, 7}), 1, 500), {What::hangs, 1});
  expect(exam, in_time(with(ranks_in({7, 7, 7}), 2, 700)), {What::hangs, 2});
  expect(exam, with(ranks_in({0, 0, -1}), 2, 600), {What::hangs, 2});
  expect(exam, with(ranks_in({7, 7, -1}), 2, 900, false), {What::never_joined, 2});
  expect(exam, with(with(ranks_in({5, 7, 7, 7}), 1, 600), 3, 900), {What::hangs, 3});
  expect(exam, with(with(ranks_in({5, 7, 7, -1}), 1, 700), 3, 600, false),
         {What::hangs, 1});
  expect(exam, with(with(ranks_in({5, 7, -1}), 1, 600), 2, 900, false),
         {What::never_joined, 2});
  expect(exam, with(with(ranks_in({5, 7, 7}), 1, 700), 2, 700), {What::hangs, 1});
}

LESSON_TEST(29, ended, "a rank that has died, and one that has failed") {
  const Evidence two = with(ranks_in({7, 6, 7, 5}), 1, End::failed);
  expect(exam, two, {What::failed, 1});
  expect(exam, in_time(two), {What::failed, 1});
  expect(exam, in_time(with(ranks_in({7, 7, 7}), 2, End::died)), {What::died, 2});
  expect(exam, in_time(with(ranks_in({7, 7, 7}), 0, End::died)), {What::died, 0});
  expect(exam, with(with(ranks_in({7, 7, 7}), 2, End::failed), 1, End::died),
         {What::died, 1});
  expect(exam, with(two, 2, End::died), {What::died, 2});
  expect(exam, with(with(ranks_in({7, 7, 7}), 1, End::died), 2, End::died),
         {What::died, 1});
  expect(exam, with(two, 2, End::failed), {What::failed, 1});
  expect(exam, with(two, 3, End::failed), {What::failed, 1});
  for (const End end : {End::failed, End::died}) {
    const Evidence both = with(with(ranks_in({7, 7, 7}), 1, end), 2, end);
    expect(exam, with(with(both, 1, 10), 2, 300),
           {end == End::died ? What::died : What::failed, 1});
  }
  expect(exam, with(with(two, 3, End::died), 2, End::died), {What::died, 2});
  expect(exam, no_hurry(two), {What::failed, 1});
  expect(exam, no_hurry(with(two, 2, End::died)), {What::died, 2});
  expect(exam, with(two, 3, 900), {What::failed, 1});
  expect(exam, with(with(two, 2, End::died), 3, 900), {What::died, 2});
  expect(exam, with(with(two, 2, End::died), 2, 900), {What::died, 2});
  expect(exam, with(with(two, 0, End::died), 0, 900, false), {What::died, 0});
}

LESSON_TEST(29, store, "rank 0, which hosts the store") {
  const Evidence dead = with(ranks_in({7, 7, 6}), 1, End::died);
  const auto lost = [](Evidence evidence, std::optional<Blame> earlier) {
    evidence.store_answers = false;
    evidence.earlier = earlier;
    return evidence;
  };
  expect(exam, lost(ranks_in({7, 7, 6}), {}), {What::lost_store, 0});
  expect(exam, lost(in_time(ranks_in({})), {}), {What::lost_store, 0});
  expect(exam, lost(no_hurry(ranks_in({7, 7, 7})), {}), {What::lost_store, 0});
  expect(exam, lost(dead, {}), {What::lost_store, 0});
  expect(exam, lost(dead, Blame{What::failed, 2}), {What::failed, 2});
  for (const What what : {What::died, What::hangs, What::never_joined, What::behind}) {
    expect(exam, lost(dead, Blame{what, 2}), {what, 2});
  }
  expect(exam, lost(ranks_in({7, 7, 7}), Blame{What::died, 0}), {What::died, 0});
  Evidence later = dead;
  later.earlier = Blame{What::failed, 2};
  expect(exam, later, {What::died, 1});
  later = ranks_in({7, 7, 7});
  later.earlier = Blame{What::hangs, 2};
  expect(exam, later, {});
  later.ranks[0].end = End::died;  // and the store is in another process
  expect(exam, later, {What::died, 0});
  expect(exam, with(ranks_in({7, 7, 7}), 0, 600), {What::hangs, 0});
  for (Evidence known : {ranks_in({7, 7, 6}), with(ranks_in({7, 7, 7}), 2, 600)}) {
    const Blame without = asked(known);
    known.earlier = Blame{What::failed, 1};
    exam.equal("who is to blame: " + in_words(known), in_words(without),
               in_words(asked(known)), earlier_is_old());
  }
}

LESSON_TEST(29, told_of_some, "a store that has reported some ranks, or none") {
  const auto without_0_and_2 = [](Evidence evidence) {
    std::erase_if(evidence.ranks, [](const RankNews& news) {
      return news.rank == 0 || news.rank == 2;
    });
    return evidence;
  };
  const Evidence five = ranks_in({7, 7, 7, 6, 7});
  expect(exam, without_0_and_2(with(five, 4, End::died)), {What::died, 4});
  expect(exam, without_0_and_2(with(five, 1, End::failed)), {What::failed, 1});
  expect(exam, without_0_and_2(with(five, 4, 600)), {What::hangs, 4});
  expect(exam, without_0_and_2(five), {What::behind, 3});
  Evidence one = with(ranks_in({7, 7, 7, 7}), 3, End::died);
  one.ranks.erase(one.ranks.begin(), one.ranks.begin() + 3);
  expect(exam, one, {What::died, 3});
  one.ranks[0].end = End::none;
  expect(exam, with(one, 0, 600), {What::hangs, 3});
  expect(exam, in_time(ranks_in({})), {});
  expect(exam, ranks_in({}), {});
}

/// Draws a job. Ranks may be missing in it, as in what the store tells.
std::pair<Evidence, Blame> drawn(std::mt19937_64& random) {
  const auto one_of = [&](int many) { return random() % many == 0; };
  Evidence evidence;
  const int world = 1 + static_cast<int>(random() % 8);
  for (int rank = 0; rank < world; ++rank) {
    if (one_of(4)) continue;
    RankNews news{.rank = rank, .seq = static_cast<int64_t>(40 + random() % 3)};
    news.end = one_of(12) ? End::died : one_of(12) ? End::failed : End::none;
    news.has_beaten = !one_of(10);
    if (!news.has_beaten) news.seq = -1;
    news.silence = Milliseconds(one_of(5) ? 100 * (random() % 9) : random() % 90);
    evidence.ranks.push_back(news);
  }
  evidence.patience = Milliseconds(100 * (2 + random() % 6));
  evidence.timed_out = one_of(2);
  if (one_of(5)) evidence = no_hurry(evidence);
  evidence.store_answers = !one_of(10);
  if (one_of(4)) {
    evidence.earlier =
        Blame{static_cast<What>(1 + random() % 5), static_cast<int>(random() % world)};
  }
  return {evidence, distributed::whom_to_blame(evidence)};
}

LESSON_TEST(29, drawn_jobs, "two thousand drawn jobs") {
  std::mt19937_64 random(exam.seed());
  for (int i = 0; i < 2000; ++i) {
    const auto [evidence, expected] = drawn(random);
    expect(exam, evidence, expected, fmt::format(" (seed {})", exam.seed()));
  }
}

/// A communicator for a monitor that watches and never exchanges anything.
class Silence : public distributed::Communicator {
 public:
  int rank() const override { return 0; }
  int size() const override { return 3; }
  const char* algorithm() const override { return "none"; }
  void all_reduce(distributed::Buffer, distributed::ReduceOp,
                  const distributed::Collective&) override {}
  void broadcast(distributed::Buffer, int, const distributed::Collective&) override {}
  void reduce(distributed::Buffer, int, distributed::ReduceOp,
              const distributed::Collective&) override {}
  void all_gather(distributed::Buffer, distributed::Buffer,
                  const distributed::Collective&) override {}
  void reduce_scatter(distributed::Buffer, distributed::Buffer, distributed::ReduceOp,
                      const distributed::Collective&) override {}
  void send(distributed::Buffer, int, const distributed::Collective&) override {}
  void recv(distributed::Buffer, int, const distributed::Collective&) override {}
  void abort(const std::string&) override {}
};

/// Returns what rank 0's monitor reports after `error`.
std::string reported(const std::shared_ptr<distributed::Store>& store,
                     const std::string& error) {
  distributed::ProcessGroup group(std::make_unique<Silence>());
  distributed::Monitor monitor(store, group, Milliseconds(500));
  return monitor.explain(error);
}

LESSON_TEST(29, engine, "the engine's monitor says what you have decided") {
  const Because because{
      "your function is asked by each rank's monitor, with what the "
      "store has told it",
      kDead};
  const auto store = std::make_shared<distributed::HashStore>();
  store->beat({1, 3, 4, "all_reduce #4"});
  store->beat({2, 3, 5, "all_reduce #5"});
  const std::string error = "the connection to rank 1 broke";
  store->set(distributed::failed_key(2), error);
  exam.equal("what rank 0 reports when rank 2 has failed", "rank 2 failed: " + error,
             reported(store, error), because);
  store->set(distributed::gone_key(1), "connection lost");
  exam.equal("what rank 0 reports when rank 1 has died, too",
             std::string("rank 1 died (it was at all_reduce #4); fix: restart all "
                         "ranks"),
             reported(store, error), because);
}

}  // namespace lockstep::lessons::lesson_29
