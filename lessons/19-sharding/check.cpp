#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <random>

#include "engine/data/rank_sampler.h"
#include "engine/ops/copy.h"
#include "engine/runtime/device_context.h"
#include "lessons/machine/exam.h"
#include "lessons/machine/predicates.h"
#include "lessons/machine/ranks.h"
#include "lessons/machine/shares.h"

class Shard;

namespace lockstep::lessons::lesson_19 {

using data::Share;
using Indices = std::vector<int64_t>;
using Numbers = std::vector<double>;

constexpr const char *kEqually = "Equally many", *kDealt = "Dealt like cards",
                     *kAgain = "The order begins again",
                     *kOneOrder = "One order for all ranks",
                     *kAnother = "Another order in each epoch",
                     *kBefore = "Before the loader starts",
                     *kTwice = "What padding does to an evaluation",
                     *kMeans = "A mean of means";

Indices written(const Share& share, int64_t epoch) {
  return data::rank_sampler()(share)->indices(epoch);
}

LESSON_TEST(19, as_many, "all ranks read equally many samples") {
  for (const Share& share : sizes(exam, false)) {
    int64_t most = 0, least = INT64_MAX;
    for (int rank = 0; rank < share.world; ++rank) {
      const Share mine = of_rank(share, rank);
      exam.equal(fmt::format("size() of rank {}, {}", rank, named(exam, share)),
                 count_of(mine), data::rank_sampler()(mine)->size(),
                 {"the length divided by the number of ranks: rounded up, or down with "
                  "drop_last, and the same on every rank",
                  kEqually});
      const auto read = static_cast<int64_t>(written(mine, 0).size());
      exam.equal(
          fmt::format("samples that rank {} reads, {}", rank, named(exam, share)),
          count_of(mine), read,
          {"`indices` has as many samples as `size` says: the loader makes its "
           "steps from one of them and its progress from the other",
           kEqually});
      most = std::max(most, read);
      least = std::min(least, read);
    }
    exam.at_most(
        "difference between the most and the fewest samples that a rank reads",
        int64_t{0}, most - least,
        {"a rank with a step more waits for ranks that have finished", kEqually});
  }
}

LESSON_TEST(19, every_sample, "every sample is read, and none more often than needed") {
  for (const Share& share : sizes(exam, false)) {
    std::map<int64_t, int64_t> readers;
    int64_t all = 0;
    for (int rank = 0; rank < share.world; ++rank) {
      for (const int64_t i : written(of_rank(share, rank), 0)) {
        exam.that(i >= 0 && i < share.length,
                  fmt::format("a sample of rank {}, {}", rank, named(exam, share)),
                  fmt::format("0 to {}", share.length - 1), fmt::format("{}", i),
                  {"the order ends at the last sample and then begins again", kAgain});
        ++readers[i];
        ++all;
      }
    }
    const int64_t read = std::min(share.length, all);
    exam.equal(
        "different samples that are read by all ranks together, " + named(exam, share),
        read, static_cast<int64_t>(readers.size()),
        {"the ranks' parts must not overlap: each rank begins at its own "
         "position and goes on by the number of ranks",
         kDealt});
    const int64_t most = (all + share.length - 1) / share.length;
    for (const auto& [sample, times] : readers) {
      exam.at_most(
          fmt::format("how often sample {} is read, {}", sample, named(exam, share)),
          most, times,
          {"padding repeats the order from its beginning: no sample comes a "
           "second time before the order has ended",
           kAgain});
    }
  }
}

LESSON_TEST(19, dealt, "sample i goes to rank i modulo the number of ranks") {
  for (const Share& share : sizes(exam, false)) {
    for (int rank = 0; rank < share.world; ++rank) {
      Indices expected = expected_of(of_rank(share, rank), 0);
      Indices got = written(of_rank(share, rank), 0);
      const int64_t left = share.length - rank;  // positions from this rank's first one
      const int64_t real = std::clamp<int64_t>((left + share.world - 1) / share.world,
                                               0, std::ssize(expected));
      expected.resize(real);
      got.resize(real);
      exam.equal(fmt::format("rank {}, without shuffle, {}", rank, named(exam, share)),
                 expected, got, {why_not_dealt(of_rank(share, rank), got), kDealt});
    }
  }
}

LESSON_TEST(19, padding, "what is missing is taken from the beginning of the order") {
  for (const Share& share : sizes(exam, false)) {
    for (int rank = 0; rank < share.world; ++rank) {
      exam.equal(
          fmt::format("rank {}, with its padding, {}", rank, named(exam, share)),
          expected_of(of_rank(share, rank), 0), written(of_rank(share, rank), 0),
          {"the order begins again where it ends, for all ranks together: position 10 "
           "of 10 samples is sample 0, and position 11 is sample 1",
           kAgain});
    }
  }
}

LESSON_TEST(19, one_order, "with shuffle: the ranks share one order") {
  for (const Share& share : sizes(exam, true)) {
    std::map<int64_t, int64_t> readers;
    int64_t all = 0;
    for (int rank = 0; rank < share.world; ++rank) {
      for (const int64_t i : written(of_rank(share, rank), 1)) ++readers[i], ++all;
    }
    exam.equal(
        "different samples that are read by all ranks together, " + named(exam, share),
        std::min(share.length, all), static_cast<int64_t>(readers.size()),
        {"the ranks deal out the same order only if they shuffle alike: the "
         "rank must not be in the seed, nor anything else that differs between them",
         kOneOrder});
  }
}

LESSON_TEST(19, shuffled_first, "the whole data set is shuffled, then dealt") {
  for (const Share& share : sizes(exam, true)) {
    for (int rank = 0; rank < share.world; ++rank) {
      const Share mine = of_rank(share, rank);
      std::vector<Indices> epochs;
      for (int64_t epoch = 0; epoch < 8; ++epoch)
        epochs.push_back(written(mine, epoch));
      exam.equal(fmt::format("rank {}, with shuffle, {}", rank, named(exam, share)),
                 expected_of(mine, 0), epochs[0],
                 {why_not_shuffled(mine, epochs), kOneOrder});
    }
  }
}

const tracer::Trace& two_epochs(Exam& exam) {
  return exam.train(
      "-a resnet18 --dataset generated --length 10 --mode ddp --devices 4 -b 4 -j 0 "
      "--device-type null --epochs 2 --steps 8 --seed 7 --trace-steps 0:8",
      {"the loaders of four ranks ask your sampler; the run's output is printed below",
       "What the trace shows"});
}

/// Throws Wrong unless every rank has read its part of this epoch, of 10 samples.
void expect_read(Exam& exam, int64_t epoch, const Because& because) {
  std::map<int64_t, Indices> read = trained_on(two_epochs(exam));
  for (int rank = 0; rank < 4; ++rank) {
    const Indices all = read[rank];
    const auto begin = std::min<int64_t>(3 * epoch, std::ssize(all));
    const auto end = std::min<int64_t>(3 * epoch + 3, std::ssize(all));
    exam.equal(fmt::format("samples that rank {} reads in epoch {}, in the trace", rank,
                           epoch),
               expected_of({10, rank, 4, true, 7}, epoch),
               Indices(all.begin() + begin, all.begin() + end), because);
  }
}

LESSON_TEST(19, resnet_reads_it, "ResNet18 on 4 ranks reads your parts") {
  int64_t all = 0;
  for (const auto& [rank, samples] : trained_on(two_epochs(exam))) {
    all += std::ssize(samples);
  }
  exam.at_most("samples that 4 ranks read in two epochs of 10", int64_t{24}, all,
               {"12 in an epoch: each sample once, and two of them twice", kEqually});
  expect_read(exam, 0,
              {"the trace shows what the loaders fetched: your parts of epoch 0, with "
               "--seed 7",
               "What the trace shows"});
}

// --- epochs

/// The learner's Shard, which remembers its epoch.
class Mine {
 public:
  Mine(const Exam& exam, const Share& share)
      : exam_(exam),
        shard_(exam.function<::Shard*(const Share&)>("lesson_shard")(share)) {}
  Mine(const Mine&) = delete;
  ~Mine() { exam_.function<void(::Shard*)>("lesson_delete")(shard_); }

  Indices indices() const {
    Indices got;
    exam_.function<void(const ::Shard&, Indices&)>("lesson_indices")(*shard_, got);
    return got;
  }
  void train(const std::function<void()>& start, const std::function<bool()>& step,
             int64_t first, int64_t last) {
    exam_.function<void(::Shard&, const std::function<void()>&,
                        const std::function<bool()>&, int64_t, int64_t)>(
        "lesson_train")(*shard_, start, step, first, last);
  }
  double accuracy(const std::vector<int>& correct,
                  const std::function<void(Numbers&)>& sum) const {
    return exam_.function<double(const ::Shard&, const std::vector<int>&,
                                 const std::function<void(Numbers&)>&)>(
        "lesson_accuracy")(*shard_, correct, sum);
  }

 private:
  const Exam& exam_;
  ::Shard* shard_;
};

LESSON_TEST(19, by_epoch, "each epoch has an order of its own, and only one") {
  const Share share{24, 1, 4, true, exam.seed() % 100};
  const Indices first = written(share, 0), second = written(share, 1);
  exam.that(first != second, "the order of epoch 1, on rank 1 of 4",
            "another one than in epoch 0", fmt::format("{}, as before", second),
            {"the order depends on the epoch: `epoch_` is what `set_epoch` was told",
             kAnother});
  for (const int64_t epoch : {0, 1, 2, 9}) {
    Share added = share;
    added.seed += epoch;
    const Indices got = written(share, epoch);
    const bool is_sum = epoch > 0 && got == expected_of(added, 0);
    const bool is_twice = epoch > 0 && got == expected_of(added, epoch);
    exam.equal(
        fmt::format("epoch {}, on rank 1 of 4, 24 samples (seed {})", epoch,
                    exam.seed()),
        expected_of(share, epoch), got,
        {is_sum     ? "this is the order of seed + epoch, PyTorch's way: seed 1 in "
                      "epoch 0 is then seed 0 in epoch 1. `indices(epoch)` takes both"
         : is_twice ? "the epoch is in this order twice, in the seed and in "
                      "`indices(epoch)`, which needs no other seed"
                    : "the order is a function of the seed and the epoch, not of how "
                      "often it was asked for: a resumed run begins with epoch 9",
         kAnother});
  }
  const Mine mine(exam, share);
  const Indices asked = mine.indices();
  exam.equal("indices() again, without set_epoch", asked, mine.indices(),
             {"asking is not an epoch: a progress bar asks, too. Only `set_epoch` "
              "changes the order",
              kAnother});
}

LESSON_TEST(19, resnet_reads_another, "ResNet18 reads another order in epoch 1") {
  expect_read(exam, 1, {"the order of epoch 1, with --seed 7", kAnother});
}

LESSON_TEST(19, set_before_start, "the shard knows its epoch when the loader starts") {
  // The last one is resumed after its last epoch.
  const std::vector<std::pair<int64_t, int64_t>> runs{{0, 3}, {5, 7}, {2, 2}, {3, 2}};
  for (const auto& [first, last] : runs) {
    const Share share{24, 2, 4, true, exam.seed() % 100};
    Mine mine(exam, share);
    std::vector<Indices> orders;
    std::vector<int64_t> steps;
    int64_t left = 0;  // batches of four of this rank's six samples
    bool over = false;
    const std::string where = fmt::format("in training from epoch {} to {} (seed {})",
                                          first, last, exam.seed());
    mine.train(
        [&] {
          orders.push_back(mine.indices());
          exam.at_most(
              "epochs that the loader starts, " + where, int64_t{20},
              std::ssize(orders),
              {"`start` begins an epoch, not a step: once for each epoch", kBefore});
          steps.push_back(0);
          left = 2;
          over = false;
        },
        [&] {
          exam.that(
              !over, "after `step` has returned false, " + where,
              "`start` of the next epoch, or the end", "`step` again",
              {"the epoch ends when `step` returns false, and nothing else says so: "
               "size() counts samples, not batches",
               kBefore});
          over = left == 0;
          if (over) return false;
          --left;
          if (!steps.empty()) ++steps.back();
          return true;
        },
        first, last);
    exam.equal("epochs that the loader started, " + where, last - first + 1,
               static_cast<int64_t>(orders.size()),
               {last < first ? "no epoch is left if training is resumed after its last"
                             : "one start for each epoch from `first` to `last`, the "
                               "first and the last included",
                kBefore});
    for (size_t i = 0; i < orders.size(); ++i) {
      exam.equal(fmt::format("steps of epoch {}, {}", first + int64_t(i), where),
                 int64_t{2}, steps[i],
                 {"an epoch lasts until `step` returns false", kBefore});
    }
    for (size_t i = 0; i < orders.size(); ++i) {
      const int64_t epoch = first + static_cast<int64_t>(i);
      exam.equal(fmt::format("order of epoch {}, {}", epoch, where),
                 expected_of(share, epoch), orders[i],
                 {why_not(share, orders, first), kBefore});
    }
  }
}

// --- evaluation

/// Evaluates on real ranks and throws Wrong unless all get the exact accuracy.
void expect_exact(Exam& exam, const Share& share, uint64_t seed) {
  const Counted all = counted(share, seed);
  Numbers got(share.world);
  std::vector<int> calls(share.world);
  Numbers summed(share.world);
  on_ranks(share.world, "every rank sums equally often",
           {"the ranks did not call `sum` equally often, or with equally many numbers: "
            "a rank that has only padding must call it, too",
            kMeans},
           [&](Rank& rank) {
             const Share mine = of_rank(share, rank.rank);
             const auto sum = [&](Numbers& numbers) {
               ++calls[rank.rank];
               for (const double value : numbers) summed[rank.rank] += value;
               const auto count = static_cast<int64_t>(numbers.size());
               const Tensor tensor =
                   ops::copy_to(Tensor::from(numbers, {count}, DType::f64), rank.device,
                                {"h2d", "counts"});
               rank.group->all_reduce(tensor).wait();
               numbers = values(tensor);
             };
             got[rank.rank] = Mine(exam, mine).accuracy(corrects(mine, seed), sum);
           });
  for (int rank = 0; rank < share.world; ++rank) {
    exam.close(fmt::format("accuracy on rank {} ({} of {} samples count): {}{}", rank,
                           all.samples, share.length, named(exam, share),
                           share.shuffle ? ", shuffled" : ""),
               {all.exact}, {got[rank]}, 1e-12,
               because_of(share, all, got[rank], rank));
  }
}

LESSON_TEST(19, counts_once, "each of 10 samples counts once, on 4 ranks") {
  expect_exact(exam, {10, 0, 4, false}, kTold);
  for (uint64_t seed = 0; seed < 3; ++seed) {
    expect_exact(exam, {10, 0, 4, true, seed}, exam.seed() % 1000 + seed);
  }
}

LESSON_TEST(19, any_size, "the accuracy does not depend on the number of ranks") {
  std::mt19937_64 random(exam.seed());
  for (int i = 0; i < 4; ++i) {
    const int world = 2 + static_cast<int>(random() % 4);
    const auto length = static_cast<int64_t>(world + 1 + random() % 20);
    expect_exact(exam, {length, 0, world, i % 2 == 0, random() % 100},
                 exam.seed() % 1000);
    expect_exact(exam, {length, 0, world, false, 0, true}, exam.seed() % 1000);
  }
}

LESSON_TEST(19, only_padding, "3 samples on 8 ranks: five have only padding") {
  expect_exact(exam, {3, 0, 8, false}, exam.seed() % 1000);
}

}  // namespace lockstep::lessons::lesson_19
