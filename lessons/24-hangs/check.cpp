#include <algorithm>
#include <limits>
#include <numeric>
#include <random>
#include <utility>

#include "lessons/machine/exam.h"
#include "lessons/machine/hang_reasons.h"
#include "lessons/machine/meeting_point.h"

namespace lockstep::lessons::lesson_24 {

using Calls = MeetingPoint::Calls;

constexpr const char *kUneven = "One batch more", *kAlone = "Only rank 0",
                     *kSkip = "A step that one rank leaves out",
                     *kWho = "Who is missing?";

/// Throws Wrong if the ranks waited forever.
void expect_no_hang(const Exam& exam, const std::string& what, const RanksRun& run,
                    const Because& because) {
  exam.that(!run.hangs, what, "all ranks come to the end",
            "it hangs. What the ranks have called: " + in_words(run.calls), because);
}

// --- an epoch

RanksRun epoch(const Exam& exam, const std::vector<int>& counts) {
  auto* const train =
      exam.function<void(const GroupOfRanks&, const ModelOfRank&,
                         const std::vector<int>&)>("lesson_train_epoch");
  return run_ranks(static_cast<int>(counts.size()),
                   [&](const auto& group, const auto& model) {
                     std::vector<int> batches(counts[group.rank]);
                     std::iota(batches.begin(), batches.end(), 100 * group.rank);
                     train(group, model, batches);
                   });
}

LESSON_TEST(24, uneven, "ranks with different numbers of batches") {
  std::mt19937_64 random(exam.seed());
  std::vector<std::vector<int>> cases{{5, 5, 4}, {4, 5, 5}, {3, 3}, {2, 0}, {1}};
  for (int i = 0; i < 4; ++i) {
    cases.emplace_back(2 + random() % 4);
    for (int& count : cases.back()) count = static_cast<int>(random() % 7);
  }
  for (const std::vector<int>& counts : cases) {
    const std::string what =
        fmt::format("an epoch of ranks with {} batches (seed {})", counts, exam.seed());
    const RanksRun run = epoch(exam, counts);
    expect_no_hang(exam, what, run, why_an_epoch_hangs(counts, run));
    const int fewest = std::ranges::min(counts);
    for (size_t r = 0; r < counts.size(); ++r) {
      std::vector<int> expected(fewest);
      std::iota(expected.begin(), expected.end(), 100 * static_cast<int>(r));
      exam.equal(fmt::format("{}: batches that rank {} trains with", what, r), expected,
                 run.steps[r],
                 {"as many as the rank with the fewest has, the first ones", kUneven});
    }
  }
}

// --- an evaluation

/// Throws Wrong if ranks tell each other the accuracy by the memory that threads share.
void expect_told(const Exam& exam, const auto& evaluate) {
  std::vector<double> here(3, -1), there(2, -1);
  const auto another_job = [&] {
    run_ranks(
        2,
        [&](const auto& group, const auto& model) {
          there[group.rank] = evaluate(group, model);
        },
        0.2);
  };
  run_ranks(
      3,
      [&](const auto& group, const auto& model) {
        here[group.rank] = evaluate(group, model);
      },
      kAccuracy, another_job);
  exam.close(
      "two jobs evaluate at the same time, one of them with an accuracy of 0.2: what "
      "the ranks of the other one return",
      std::vector<double>(3, kAccuracy), here, 1e-12,
      {"a `static` or global variable has the latest number of any rank. Ranks are "
       "processes, and have no memory in common: the accuracy itself goes through a "
       "collective",
       kAlone});
}

LESSON_TEST(24, on_rank_0, "only rank 0 evaluates, and all get the accuracy") {
  auto* const evaluate =
      exam.function<double(const GroupOfRanks&, const ModelOfRank&)>("lesson_evaluate");
  for (const int size : {3, 1, 2}) {
    std::vector<double> accuracies(size, -1);
    const RanksRun run = run_ranks(size, [&](const auto& group, const auto& model) {
      accuracies[group.rank] = evaluate(group, model);
    });
    const std::string what = fmt::format("an evaluation on {} ranks", size);
    const bool broadcasts = !run.calls[0].empty() && run.calls[0][0].starts_with("b");
    expect_no_hang(
        exam, what, run,
        broadcasts
            ? Because{"a model in DistributedDataParallel broadcasts its buffers "
                      "before each forward pass, and rank 0 is alone in that. The "
                      "module inside does not",
                      kAlone}
            : Because{
                  "a collective in `if (rank == 0)`: the others never call it. Every "
                  "rank has to, also those that have nothing to tell",
                  kAlone});
    std::vector<int> evaluations(size, 0);
    evaluations[0] = 1;
    exam.equal(what + ": evaluations that each rank makes", evaluations,
               run.evaluations,
               {"rank 0 evaluates once, the others wait for its result", kAlone});
    exam.close(what + ": the accuracy that each rank returns, of 2/3",
               std::vector<double>(size, kAccuracy), accuracies, 1e-12,
               why_not_accurate(accuracies));
  }
  expect_told(exam, evaluate);
}

// --- a step

LESSON_TEST(24, careful, "a loss that is not finite, on any rank") {
  auto* const careful =
      exam.function<bool(const GroupOfRanks&, const ModelOfRank&, int, double)>(
          "lesson_careful_step");
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  for (const std::vector<double>& losses : {std::vector<double>{0.5, 2.5, 0.1},
                                            {0.5, nan, 0.1},
                                            {nan, 0.5, 0.1},
                                            {0.5, 0.1, inf},
                                            {-inf, inf, 0.5},
                                            {0.5, -inf, 0.1},
                                            {nan, nan},
                                            {1.0},
                                            {-0.5, 0, 0.5},
                                            {1e308, 1e308}}) {
    std::vector<int> made(losses.size(), -1);
    const RanksRun run = run_ranks(
        static_cast<int>(losses.size()), [&](const auto& group, const auto& model) {
          made[group.rank] = careful(group, model, 7, losses[group.rank]);
        });
    const std::string what = fmt::format("a step with the losses {}", losses);
    expect_no_hang(exam, what, run,
                   {"a rank has decided by its own loss. What to do, and that it is "
                    "asked at all, must be the same on every rank",
                    kSkip});
    const bool finite =
        std::ranges::all_of(losses, [](double x) { return std::isfinite(x); });
    exam.equal(what + ": steps that rank 0 makes", size_t{finite}, run.steps[0].size(),
               finite ? Because{"all losses are finite, also large, negative ones "
                                "and 0: the step is made. (A sum of large ones need "
                                "not be finite)",
                                kSkip}
                      : why_made(losses, run));
    exam.equal(what + ": what each rank returns",
               std::vector<int>(losses.size(), finite), made,
               {"whether the step was made", kSkip});
  }
}

// --- the watchdog

struct Named {
  int64_t call;
  std::vector<int> ranks;
};

Named named(const Exam& exam, const std::vector<Calls>& calls) {
  Named found{-2, {}};
  found.call = exam.function<int64_t(const std::vector<Calls>&, std::vector<int>&)>(
      "lesson_watchdog")(calls, found.ranks);
  return found;
}

std::string text_of(const Named& named) {
  if (named.call < 0 && named.ranks.empty()) return "nobody is missing";
  return fmt::format("in collective {} the ranks {}", named.call, named.ranks);
}

void expect_named(const Exam& exam, const std::vector<Calls>& calls,
                  const Named& expected, const Because& because) {
  const Named got = named(exam, calls);
  Because why = because;
  std::vector<int> others;
  for (int r = 0; r < static_cast<int>(calls.size()); ++r) {
    if (!std::ranges::count(expected.ranks, r)) others.push_back(r);
  }
  const bool absent =
      !expected.ranks.empty() && expected.call >= 0 &&
      calls[expected.ranks[0]].size() <= static_cast<size_t>(expected.call);
  if (absent && got.ranks == others) {
    why = {
        "these are the ranks that wait: each of them reports a timeout. The one at "
        "fault does not wait, and reports nothing",
        kWho};
  }
  exam.equal("who is missing, of " + in_words(calls), text_of(expected), text_of(got),
             why);
}

Calls repeated(size_t count, const char* call = "all_reduce 2048") {
  return Calls(count, call);
}

LESSON_TEST(24, behind, "the watchdog: ranks that have not come") {
  std::mt19937_64 random(exam.seed());
  const Because because{
      "the first collective that is not begun by all: those that have not begun so "
      "many "
      "are missing. A rank may be further ahead than another that waits, since "
      "collectives are enqueued; neither is at fault",
      kWho};
  expect_named(exam, {repeated(3), repeated(3), repeated(2), repeated(3)}, {2, {2}},
               because);
  expect_named(exam, {repeated(4), repeated(3), repeated(1), repeated(1)}, {1, {2, 3}},
               because);
  expect_named(exam, {{}, repeated(1)}, {0, {0}}, because);
  for (int i = 0; i < 10; ++i) {
    const int size = 2 + static_cast<int>(random() % 5);
    std::vector<Calls> calls;
    Calls whole;
    for (int k = 0; k < 7; ++k) {
      whole.push_back(random() % 2 == 0 ? "all_reduce 2048" : "broadcast 40");
    }
    for (int r = 0; r < size; ++r) {
      const size_t begun = 1 + random() % 6;
      calls.emplace_back(whole.begin(), whole.begin() + static_cast<int64_t>(begun));
    }
    calls[random() % size] = whole;
    const size_t fewest = std::ranges::min(calls, {}, &Calls::size).size();
    Named expected{static_cast<int64_t>(fewest), {}};
    for (int r = 0; r < size; ++r) {
      if (calls[r].size() == fewest) expected.ranks.push_back(r);
    }
    expect_named(exam, calls, expected, because);
  }
}

LESSON_TEST(24, another_call, "the watchdog: a rank that does something else") {
  const Because because{
      "they differ before the end. What comes after the first difference is a "
      "consequence, and the lengths of the lists say nothing",
      kWho};
  const Calls usual{"all_reduce 2048", "all_reduce 2048", "broadcast 40"};
  Calls other = usual;
  other[1] = "broadcast 40";
  expect_named(exam, {usual, other, usual}, {1, {1}}, because);
  Calls longer = other;
  longer.push_back("all_reduce 2048");
  expect_named(exam, {usual, {usual[0], usual[1]}, longer}, {1, {2}}, because);
  Calls size = usual;
  size[2] = "broadcast 44";
  expect_named(
      exam, {size, usual, usual, usual}, {2, {0}},
      {"rank 0 is one of the ranks: those that differ from most are named, and another "
       "size is another collective",
       kWho});
  expect_named(
      exam, {usual, other}, {1, {0, 1}},
      {"one against one: nobody can tell who is right, so both are named", kWho});
  expect_named(
      exam, {usual, usual, other, other}, {1, {0, 1, 2, 3}},
      {"two against two: nobody can tell who is right, so all are named", kWho});
  const Calls third{usual[0], "barrier"};
  expect_named(
      exam, {usual, usual, usual, other, other}, {1, {3, 4}},
      {"three against two: most have called the same, and both others are named, "
       "although they agree with each other",
       kWho});
  expect_named(
      exam, {usual, usual, other, third}, {1, {0, 1, 2, 3}},
      {"two of four is no majority, even if it is the largest group: more than half of "
       "the ranks must have called the same, or all are named",
       kWho});
  Calls name = usual;
  name[1] = "broadcast 2048";
  expect_named(exam, {usual, usual, name}, {1, {2}},
               {"the same size, but another operation: that is another collective. "
                "Compare all of the text",
                kWho});
  expect_named(exam, {usual, other, {usual[0]}}, {1, {2}},
               {"a rank that has not come is missing, whatever the others do", kWho});
}

LESSON_TEST(24, nobody, "the watchdog: all have come") {
  for (const int size : {1, 2, 4}) {
    expect_named(
        exam, std::vector<Calls>(size, repeated(5)), {-1, {}},
        {"all ranks have begun the same: the network is slow or broken, and no "
         "rank is to blame",
         kWho});
  }
}

LESSON_TEST(24, three_programs, "the watchdog and the three programs that hang") {
  const auto expect = [&](const char* program, const Named& expected,
                          const RanksRun& run) {
    const Named got = named(exam, run.calls);
    exam.equal(fmt::format("{}: {}", program, in_words(run.calls)), text_of(expected),
               text_of(got),
               {"the first collective that not all ranks have begun alike", kWho});
  };
  expect("each rank trains with all its batches", {4, {2}},
         run_ranks(3, [](const auto& group, const auto& model) {
           for (int i = 0; i < (group.rank == 2 ? 4 : 5); ++i) model.step(i);
         }));
  expect("rank 0 evaluates in DDP, the others train on", {1, {0}},
         run_ranks(3, [](const auto& group, const auto& model) {
           model.step(0);
           if (group.rank == 0) model.evaluate();
           model.step(1);
         }));
  expect("rank 1 leaves out the step of a loss that is not finite", {3, {1}},
         run_ranks(4, [](const auto& group, const auto& model) {
           for (int i = 0; i < 4; ++i) {
             if (group.rank != 1 || i != 2) model.step(i);
           }
         }));
}

}  // namespace lockstep::lessons::lesson_24
