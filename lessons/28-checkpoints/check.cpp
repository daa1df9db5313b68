#include <algorithm>
#include <random>

#include "lessons/machine/checkpoint_runs.h"
#include "lessons/machine/evaluations.h"
#include "lessons/machine/exam.h"

namespace lockstep::lessons::lesson_28 {

// --- save

LESSON_TEST(28, one_writer, "save: rank 0 writes, and no other rank") {
  std::mt19937_64 random(exam.seed());
  for (const int size : {3, 4, 1, 2}) {
    Files files;
    const Run run = saved(exam, size, drawn_state(random), files);
    const std::string what = fmt::format("save on {} ranks", size);
    expect_no_error(exam, what, run,
                    {"write `checkpoint.part`, then rename it to `checkpoint`", kWho});
    expect_no_hang(
        exam, what, run,
        {"gather and barrier are collectives: all ranks call them, also those "
         "that do not write",
         kWho});
    std::vector<int> writers = run.writers;
    std::ranges::sort(writers);
    exam.equal("ranks that write, " + what, std::vector<int>{0}, writers,
               {"the ranks have the same weights, and the same file: if several write, "
                "they write into each other's",
                kWho});
    exam.that(files.by_name.contains("checkpoint"),
              "the file `checkpoint` after " + what, "there", "missing",
              {"it is what resume reads", kWho});
  }
}

LESSON_TEST(28, complete_on_return, "save: it returns when the file is complete") {
  std::mt19937_64 random(exam.seed());
  for (const int size : {2, 5}) {
    Files files;
    const Run run = saved(exam, size, drawn_state(random), files);
    for (int rank = 0; rank < size; ++rank) {
      exam.that(
          run.complete[rank],
          fmt::format("`checkpoint` when save returns on rank {} of {}", rank, size),
          "complete", "rank 0 is still busy with it",
          {"the others return while rank 0 writes; if one of them reads the file "
           "now, it reads garbage. They wait in a barrier that rank 0 comes to "
           "when it has finished",
           kWait});
    }
  }
}

LESSON_TEST(28, everything_in_it, "the checkpoint has all that training depends on") {
  std::mt19937_64 random(exam.seed());
  for (const int size : {4, 1}) {
    Files files;
    const State state = drawn_state(random);
    saved(exam, size, state, files);
    const Checkpoint& file = files.by_name["checkpoint"].content;
    exam.equal("weights in the file", state.weights, file.state.weights,
               {"the weights after the last step", kWhat});
    exam.equal("momentum in the file", state.momentum, file.state.momentum,
               {"the optimizer's state: without it the next steps are shorter ones, in "
                "another direction",
                kWhat});
    exam.equal("epoch and step in the file", std::pair(state.epoch, state.step),
               std::pair(file.state.epoch, file.state.step),
               {"where training was", kWhat});
    std::vector<int64_t> generators;
    for (int rank = 0; rank < size; ++rank) {
      generators.push_back(drawn_generator(exam, rank));
    }
    exam.equal("generators in the file", generators, file.generators,
               {"each rank draws its own dropout, and rank 0 knows only its own "
                "generator: gather them from all ranks",
                kWhat});
  }
}

LESSON_TEST(28, killed_while_writing,
            "save: killed in the middle, the old file is whole") {
  std::mt19937_64 random(exam.seed());
  Files files;
  const State old = drawn_state(random), next = drawn_state(random);
  saved(exam, 3, old, files);
  saved(exam, 3, next, files, {.in_write = true});
  exam.that(
      files.complete("checkpoint"), "`checkpoint` after a kill in the middle of save",
      "the previous one, complete", "half a file",
      {"a program that writes over its only checkpoint has none until it is complete: "
       "write another file, then rename it",
       kWhole});
  exam.that(files.by_name["checkpoint"].content.state == old,
            "`checkpoint` after a kill in the middle of save", "the previous one",
            "another one", {"rename only what is complete", kWhole});
  saved(exam, 3, next, files);
  exam.that(files.by_name["checkpoint"].content.state == next,
            "`checkpoint` after the next save", "the new one", "the old one",
            {"what a killed program has left of `checkpoint.part` is in nobody's way",
             kWhole});
}

// --- resume

LESSON_TEST(28, to_each_its_own, "resume: every rank has its state and its generator") {
  std::mt19937_64 random(exam.seed());
  for (const int size : {3, 1, 4}) {
    const State state = drawn_state(random);
    std::vector<int64_t> generators;
    for (int rank = 0; rank < size; ++rank) {
      generators.push_back(drawn_generator(exam, rank));
    }
    Files files = with_checkpoint(state, generators);
    const Run run = resumed(exam, size, files);
    const std::string what = fmt::format("resume on {} ranks", size);
    expect_no_hang(exam, what, run,
                   {"no rank has to wait: the file is complete", kWhat});
    expect_no_error(exam, what, run, {"read `checkpoint`, which is complete", kWhat});
    for (int rank = 0; rank < size; ++rank) {
      const Training& now = run.trainings[rank];
      const std::string whose = fmt::format("of rank {} after resume", rank);
      exam.equal(
          "weights " + whose, state.weights, now.state.weights,
          {"every rank reads the file: nobody hands out what rank 0 has read", kWhat});
      exam.equal("momentum " + whose, state.momentum, now.state.momentum,
                 {"the optimizer's state is in the file, too", kWhat});
      exam.equal("epoch and step " + whose, std::pair(state.epoch, state.step),
                 std::pair(now.state.epoch, now.state.step),
                 {"training goes on where it was", kWhat});
      exam.equal("generator " + whose, generators[rank], now.generator,
                 {now.generator == generators[0]
                      ? "this is rank 0's: now all ranks drop out alike, and no longer "
                        "as before"
                      : "each rank takes its own generator, generators[rank]",
                  kWhat});
    }
  }
}

LESSON_TEST(28, other_number,
            "resume: refuses a checkpoint of another number of ranks") {
  std::mt19937_64 random(exam.seed());
  for (const auto& [in_file, size] :
       {std::pair(4, 3), std::pair(2, 3), std::pair(2, 1)}) {
    Files files =
        with_checkpoint(drawn_state(random), std::vector<int64_t>(in_file, 5));
    const std::string what =
        fmt::format("resume on {} ranks from a checkpoint of {}", size, in_file);
    const Run run = refused(exam, size, files, what);
    expect_no_hang(exam, what, run, {"all ranks throw", kWhat});
    for (int rank = 0; rank < size; ++rank) {
      exam.that(!run.errors[rank].empty(), what,
                fmt::format("an error on rank {}", rank), "none",
                {"with other ranks there are other samples for each, and no generator "
                 "for some: it would train, and not be the same run",
                 kWhat});
      const Training& now = run.trainings[rank];
      const Because first{
          "check first, then change: a program that catches the error goes on with "
          "half a checkpoint",
          kWhat};
      exam.equal(what + ": the weights afterwards", std::vector<double>{1, 2, 3},
                 now.state.weights, first);
      exam.equal(what + ": the momentum afterwards", std::vector<double>(kWeights, 0),
                 now.state.momentum, first);
      exam.equal(what + ": epoch and step afterwards", std::pair(0, 0),
                 std::pair(now.state.epoch, now.state.step), first);
      exam.equal(what + ": the generator afterwards", int64_t{1000} + rank,
                 now.generator, first);
      exam.equal(what + ": the sampler's epoch afterwards", 0, run.orders[rank], first);
    }
  }
}

// --- train

LESSON_TEST(28, one_run, "train: every batch of every epoch, and the saves") {
  for (const Job& job : jobs(exam)) {
    Files files;
    const Run run = trained(exam, job, files);
    expect_no_hang(
        exam, named(job), run,
        {"save is a collective, and so is a step: all ranks call both", kWho});
    std::vector<Step> expected;
    for (int epoch = 0; epoch < job.epochs; ++epoch) {
      for (int batch = 0; batch < job.batches; ++batch)
        expected.push_back({epoch, batch});
    }
    for (const auto& steps : run.steps) {
      exam.equal("epoch:batch of each step, " + named(job), words(expected),
                 words(steps),
                 {"set_epoch before the first step of each epoch; then its batches in "
                  "order",
                  kWhere});
    }
    const int in_epoch = (job.batches - 1) / job.every;
    exam.equal(
        "saves, " + named(job), static_cast<size_t>(job.epochs * (in_epoch + 1)),
        run.writers.size(),
        {"after each multiple of `every` in an epoch, and at the epoch's end; once "
         "if it is both",
         kWhere});
    const State& end = run.trainings[0].state;
    exam.equal("epoch and step at the end, " + named(job), std::pair(job.epochs, 0),
               std::pair(end.epoch, end.step),
               {"no epoch is in progress: the next one has had no step", kWhere});
  }
}

LESSON_TEST(28, already_complete, "train: with all epochs complete, nothing is left") {
  std::mt19937_64 random(exam.seed());
  for (const Job& job : jobs(exam)) {
    State state = drawn_state(random);
    state.epoch = job.epochs;
    state.step = 0;
    Files files = with_checkpoint(state, std::vector<int64_t>(job.size, 5));
    const Run run = trained(exam, job, files);
    const std::string what =
        fmt::format("{}, resumed when all epochs are complete", named(job));
    const Because because{
        "`epochs` is how many there are in total, also those that were made before the "
        "program was killed: here all are, and the weights must stay as they are",
        kWhere};
    expect_no_hang(exam, what, run, because);
    for (int rank = 0; rank < job.size; ++rank) {
      exam.equal(what + ": epoch:batch of each step", std::vector<std::string>{},
                 words(run.steps[rank]), because);
      exam.that(run.trainings[rank].state == state,
                fmt::format("{}: the state of rank {}", what, rank), "as in the file",
                "another", because);
    }
    exam.equal(
        what + ": saves", size_t{0}, run.writers.size(),
        {"the file has it all: a save belongs to a step or to the end of an epoch "
         "that was made",
         kWhere});
  }
}

LESSON_TEST(28, same_bits, "train: killed anywhere and resumed, the same bits") {
  for (const Job& job : jobs(exam)) {
    Files whole_files;
    const Run whole = trained(exam, job, whole_files);
    const int steps = job.epochs * job.batches;
    for (int at = 1; at < steps; ++at) {
      Files files;
      trained(exam, job, files, {.at_step = at});
      const int epoch = at / job.batches,
                step = at % job.batches / job.every * job.every;
      const int first = epoch * job.batches + step;  // after the last save
      const Run rest = trained(exam, job, files);
      const std::string what =
          fmt::format("{}, killed before step {} and resumed", named(job), at);
      expect_no_hang(
          exam, what, rest,
          {"save is a collective, and so is a step: all ranks call both", kWho});
      expect_no_error(exam, what, rest,
                      {"the checkpoint is there and complete", kWhere});
      for (int rank = 0; rank < job.size; ++rank) {
        const std::vector<Step> expected(whole.steps[rank].begin() + first,
                                         whole.steps[rank].end());
        exam.equal(what + ": epoch:batch of each step", words(expected),
                   words(rest.steps[rank]),
                   {why_other_steps(expected, rest.steps[rank]), kWhere});
        const Training &a = whole.trainings[rank], &b = rest.trainings[rank];
        exam.that(a.state == b.state && a.generator == b.generator,
                  fmt::format("{}: weights of rank {} at the end", what, rank),
                  fmt::format("{}", a.state.weights),
                  fmt::format("{}", b.state.weights),
                  {"the same steps, but something that they depend on was another: "
                   "weights, momentum, generator",
                   kWhere});
      }
    }
  }
}

// --- evaluate

LESSON_TEST(28, counted_once, "evaluate: each sample of each rank counts once") {
  std::mt19937_64 random(exam.seed());
  const std::vector<std::vector<std::vector<int>>> cases{{{4, 4, 2}, {4, 4, 1}},
                                                         {{3, 3}, {3, 3}, {3}},
                                                         {{5}, {}},
                                                         {{}, {2}, {4, 1}},
                                                         {{4, 3}}};
  for (const auto& sizes : cases) {
    for (const bool padded : {false, true}) {
      const Evaluation evaluation = drawn_evaluation(random, sizes, padded);
      const Answers expected = answers(evaluation);
      auto* const evaluate = exam.function<void(const Group&, const std::vector<Batch>&,
                                                double&, double&)>("lesson_evaluate");
      std::vector<std::pair<double, double>> got(sizes.size());
      Files files;
      const Run run_ = run(static_cast<int>(sizes.size()), 1, files,
                           [&](const Group& group, const Folder&, Training&) {
                             auto& [loss, accuracy] = got[group.rank];
                             evaluate(group, evaluation[group.rank], loss, accuracy);
                           });
      const std::string what =
          fmt::format("with batches of {} samples by rank{} (seed {})", sizes,
                      padded ? ", some of them padding" : "", exam.seed());
      expect_no_hang(exam, "evaluate " + what, run_,
                     {"ranks have different numbers of batches, or none: sum after the "
                      "last batch, on every rank",
                      kSums});
      const bool alike =
          std::ranges::all_of(got, [&](const auto& each) { return each == got[0]; });
      for (size_t rank = 0; rank < sizes.size(); ++rank) {
        const auto [loss, accuracy] = got[rank];
        const auto first = [](std::pair<double, double> pair) { return pair.first; };
        const auto second = [](std::pair<double, double> pair) { return pair.second; };
        exam.that(nearly(loss, expected.right.first),
                  fmt::format("loss on rank {}, {}", rank, what),
                  fmt::format("{:.12g}", expected.right.first),
                  fmt::format("{:.12g}", loss),
                  {why_not(expected, loss, first, alike), kSums});
        exam.that(nearly(accuracy, expected.right.second),
                  fmt::format("accuracy on rank {}, {}", rank, what),
                  fmt::format("{:.12g}", expected.right.second),
                  fmt::format("{:.12g}", accuracy),
                  {why_not(expected, accuracy, second, alike), kSums});
      }
    }
  }
}

}  // namespace lockstep::lessons::lesson_28
