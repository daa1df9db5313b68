// What lesson 28 runs: the learner's functions on the ranks of a new program, with what
// they are expected to do.
#pragma once

#include <exception>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "lessons/machine/checkpoint_ranks.h"
#include "lessons/machine/exam.h"

namespace lockstep::lessons::lesson_28 {

inline constexpr const char *kWho = "Who writes", *kWait = "Who waits",
                            *kWhole = "The old one or the new one",
                            *kWhat = "What has to be in it",
                            *kWhere = "In the middle of an epoch",
                            *kSums = "Sums and counts";

inline void expect_no_hang(const Exam& exam, const std::string& what, const Run& run,
                           const Because& because) {
  exam.that(!run.hangs, what, "all ranks come to the end",
            "it hangs. What the ranks have called: " + in_words(run.calls), because);
}

inline void expect_no_error(const Exam& exam, const std::string& what, const Run& run,
                            const Because& because) {
  for (size_t r = 0; r < run.errors.size(); ++r) {
    exam.that(run.errors[r].empty(), what, "no error",
              fmt::format("rank {}: {}", r, run.errors[r]), because);
  }
}

inline int64_t drawn_generator(const Exam& exam, int rank) {
  return static_cast<int64_t>(std::mt19937_64(exam.seed() + rank)() >> 2);
}

inline Run saved(const Exam& exam, int size, const State& state, Files& files,
                 const Kill& kill = {}) {
  auto* const save =
      exam.function<void(const Group&, const Folder&, const Training&)>("lesson_save");
  return run(
      size, 4, files,
      [&](const Group& group, const Folder& folder, Training& training) {
        training.state = state;
        training.generator = drawn_generator(exam, group.rank);
        save(group, folder, training);
      },
      kill);
}

inline Run resumed(const Exam& exam, int size, Files& files) {
  auto* const resume =
      exam.function<void(const Group&, const Folder&, Training&)>("lesson_resume");
  return run(size, 4, files,
             [&](const Group& group, const Folder& folder, Training& training) {
               resume(group, folder, training);
             });
}

/// Returns what `resume` has done. Another exception than the promised one is
/// explained.
inline Run refused(const Exam& exam, int size, Files& files, const std::string& what) {
  try {
    return resumed(exam, size, files);
  } catch (const NotWritten&) {
    throw;
  } catch (const std::exception& error) {
    throw Wrong{what,
                "std::runtime_error on each rank",
                std::string("an exception of another type: ") + error.what(),
                {"std::runtime_error was expected: who calls resume catches that, and "
                 "nothing else",
                 kWhat}};
  }
}

struct Job {
  int size, batches, epochs, every;
};

inline std::string named(const Job& job) {
  return fmt::format("{} epochs of {} steps on {} ranks, every {}", job.epochs,
                     job.batches, job.size, job.every);
}

/// Runs a program that resumes if there is a checkpoint.
inline Run trained(const Exam& exam, const Job& job, Files& files,
                   const Kill& kill = {}) {
  auto* const resume =
      exam.function<void(const Group&, const Folder&, Training&)>("lesson_resume");
  auto* const train =
      exam.function<void(const Group&, const Folder&, Training&, int, int)>(
          "lesson_train");
  const bool from_file = files.complete("checkpoint");
  return run(
      job.size, job.batches, files,
      [&](const Group& group, const Folder& folder, Training& training) {
        if (from_file) resume(group, folder, training);
        train(group, folder, training, job.epochs, job.every);
      },
      kill);
}

inline std::vector<Job> jobs(const Exam& exam) {
  std::mt19937_64 random(exam.seed());
  const auto drawn = [&](int least, int most) {
    return least + static_cast<int>(random() % (most - least + 1));
  };
  return {{2, 4, 3, 2}, {3, 5, 2, 3}, {drawn(1, 4), drawn(3, 6), 3, drawn(2, 4)}};
}

inline std::vector<std::string> words(const std::vector<Step>& steps) {
  std::vector<std::string> all;
  for (const Step& step : steps) {
    all.push_back(fmt::format("{}:{}", step.order, step.batch));
  }
  return all;
}

/// Explains the steps of a resumed program.
inline std::string why_other_steps(const std::vector<Step>& expected,
                                   const std::vector<Step>& got) {
  if (!got.empty() && got.back().order > expected.back().order) {
    return "`epochs` is how many there are in total, and not how many this program "
           "makes";
  }
  if (!got.empty() && got.size() == expected.size() &&
      got[0].batch == expected[0].batch && got[0].order != expected[0].order) {
    return "a new program's sampler is in epoch 0: set_epoch also in the middle of an "
           "epoch";
  }
  if (got.size() > expected.size()) {
    return "steps that are in the weights already are made again: count a step before "
           "the save, an epoch as well, and go on at the batch where it was";
  }
  return "the steps after the checkpoint, each once";
}

}  // namespace lockstep::lessons::lesson_28
