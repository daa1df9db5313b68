// What each rank has to read, and how an evaluation of it has to count: lesson 19.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "engine/data/rank_sampler.h"
#include "lessons/machine/exam.h"
#include "lessons/machine/predicates.h"

namespace lockstep::lessons {

/// Returns 0, 1, 2, …
inline std::vector<int64_t> in_order(int64_t length) {
  std::vector<int64_t> order(length);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

/// Returns the order of all samples in an epoch.
inline std::vector<int64_t> order_of(const data::Share& share, int64_t epoch) {
  if (!share.shuffle) return in_order(share.length);
  return data::RandomSampler(share.length, share.seed).indices(epoch);
}

/// Returns how many samples a rank reads in an epoch.
inline int64_t count_of(const data::Share& share) {
  const int64_t whole = share.length / share.world;
  return share.drop_last || share.length % share.world == 0 ? whole : whole + 1;
}

/// Returns the samples that a rank reads in an epoch.
inline std::vector<int64_t> expected_of(const data::Share& share, int64_t epoch) {
  const std::vector<int64_t> order = order_of(share, epoch);
  std::vector<int64_t> expected;
  for (int64_t k = 0; k < count_of(share); ++k) {
    expected.push_back(order[(share.rank + k * share.world) % share.length]);
  }
  return expected;
}

inline data::Share of_rank(data::Share share, int rank) {
  share.rank = rank;
  return share;
}

/// The chapter's ten samples on four ranks, more ranks than samples, and sizes that
/// nobody knows beforehand; each as given and with `drop_last`.
inline std::vector<data::Share> sizes(const Exam& exam, bool shuffle) {
  std::vector<data::Share> all{{10, 0, 4}, {12, 0, 4}, {3, 0, 8}, {7, 0, 1}};
  std::mt19937_64 random(exam.seed());
  for (int i = 0; i < 6; ++i) {
    const int world = 2 + static_cast<int>(random() % 7);
    all.push_back({static_cast<int64_t>(1 + random() % 40), 0, world});
  }
  for (data::Share& share : all) {
    share.shuffle = shuffle;
    share.seed = random() % 100;
  }
  const size_t given = all.size();
  for (size_t i = 0; i < given; ++i) {
    all.push_back(all[i]);
    all.back().drop_last = true;
  }
  return all;
}

inline std::string named(const Exam& exam, const data::Share& share) {
  return fmt::format("{} sample{} on {} rank{}{} (seed {})", share.length,
                     share.length == 1 ? "" : "s", share.world,
                     share.world == 1 ? "" : "s", share.drop_last ? ", drop_last" : "",
                     exam.seed());
}

/// Returns the misconception that explains what a rank reads of data that should not be
/// shuffled; `got` is without its padding.
inline std::string why_not_dealt(data::Share share, const std::vector<int64_t>& got) {
  const std::string rule =
      "positions rank, rank + world, rank + 2 world, …: the ranks take turns" +
      std::string(share.drop_last ? ", and the end of the order is left out" : "");
  for (size_t i = 1; i < got.size(); ++i) {
    if (got[i] == got[0] + static_cast<int64_t>(i)) continue;
    share.shuffle = true;
    std::vector<int64_t> shuffled = expected_of(share, 0);
    shuffled.resize(std::min(shuffled.size(), got.size()));
    return got == shuffled
               ? "only with `shuffle` is the order another one than 0, 1, 2, …"
               : rule;
  }
  return got.size() < 2 ? rule
                        : rule +
                              ". In blocks, rank 0 would get the first quarter of a "
                              "sorted data set";
}

/// Returns the misconception that explains what a rank reads of shuffled data in epochs
/// 0, 1, …: in a single one, a shuffled order may be that of the data set by chance.
inline std::string why_not_shuffled(data::Share share,
                                    const std::vector<std::vector<int64_t>>& epochs) {
  const std::vector<int64_t>& got = epochs.at(0);
  const std::vector<int64_t> expected = expected_of(share, 0);
  const auto real = static_cast<size_t>(std::max<int64_t>(
      0, (share.length - share.rank + share.world - 1) / share.world));
  if (real < expected.size() && real <= got.size() &&
      std::equal(expected.begin(), expected.begin() + real, got.begin())) {
    return "padding repeats the shuffled order from its beginning";
  }
  data::Share plain = share;
  plain.shuffle = false;
  std::vector<int64_t> dealt = expected_of(plain, 0);
  const auto all_are = [&](const auto& is_so) {
    return std::ranges::all_of(epochs, is_so);
  };
  if (all_are([&](const auto& order) { return order == dealt; })) {
    return "with `shuffle`, the order is RandomSampler's; this is that of the data set";
  }
  std::ranges::sort(dealt);
  if (all_are([&](std::vector<int64_t> order) {
        std::ranges::sort(order);
        return order == dealt;
      })) {
    return "this rank's samples of the data set are shuffled here. Shuffling after "
           "dealing gives a rank the same samples in all epochs";
  }
  return "positions of the shuffled order, padding included: RandomSampler(length, "
         "seed) shuffles all samples, and only then are some repeated or left out";
}

/// Returns the misconception that explains the orders in which epochs `first`, first +
/// 1, … were read.
inline std::string why_not(const data::Share& share,
                           const std::vector<std::vector<int64_t>>& orders,
                           int64_t first) {
  const auto are = [&](const std::function<int64_t(int64_t epoch)>& epoch_of) {
    for (size_t i = 0; i < orders.size(); ++i) {
      const int64_t epoch = epoch_of(first + static_cast<int64_t>(i));
      if (orders[i] != expected_of(share, epoch)) return false;
    }
    return true;
  };
  if (are([](int64_t) { return 0; })) {
    return "all epochs have the order of epoch 0, which a shard has if nobody tells it "
           "another one";
  }
  if (are([&](int64_t epoch) { return epoch == first ? 0 : epoch - 1; })) {
    return "each epoch has the order of the one before: the loader has asked for its "
           "indices when `set_epoch` comes";
  }
  if (are([&](int64_t epoch) { return epoch - first; })) {
    return "a resumed run counts on: its first epoch is `first`, not 0";
  }
  return "`set_epoch` comes before `start`, with the number of the epoch";
}

/// Returns the samples that each rank reads in training, by rank.
inline std::map<int64_t, std::vector<int64_t>> trained_on(const tracer::Trace& trace) {
  std::map<std::pair<int64_t, int64_t>, bool> training;  // by process and step
  for (const tracer::Event* step : events_of(trace, "phase", "step")) {
    training[{step->pid, step->step}] = text(*step, "kind") == "train";
  }
  std::map<int64_t, std::vector<int64_t>> read;
  for (const tracer::Event* fetch :
       events_of(trace, "call", "_MapDatasetFetcher.fetch")) {
    if (!training[{fetch->pid, fetch->step}]) continue;
    for (const int64_t i : fetch->args.find("indices").integers()) {
      read[number(*fetch, "rank")].push_back(i);
    }
  }
  return read;
}

/// The same evaluation by wrong ways of counting.
struct Counted {
  double padded = 0, means = 0, of_length = 0, half_padded = 0;
  std::vector<double> own;  ///< each rank's
  double exact = 0, samples = 0;
};

/// Whether a sample is classified correctly: sample 0 is, and about half of all.
inline bool is_correct(uint64_t seed, int64_t sample) {
  return sample == 0 || std::mt19937_64(seed * 1000 + sample)() % 2 == 0;
}

/// Of the seeds of is_correct, one with which each wrong way of counting ten samples on
/// four ranks has another result.
constexpr uint64_t kTold = 2;

/// Returns for each sample that a rank reads in epoch 0 whether it is correct.
inline std::vector<int> corrects(const data::Share& share, uint64_t seed) {
  std::vector<int> correct;
  for (const int64_t sample : expected_of(share, 0)) {
    correct.push_back(is_correct(seed, sample));
  }
  return correct;
}

/// Returns the accuracy of all ranks together, and what wrong ways of counting get.
inline Counted counted(const data::Share& share, uint64_t seed) {
  Counted all;
  double hits = 0, read = 0, twice = 0, means = 0;
  for (int rank = 0; rank < share.world; ++rank) {
    const std::vector<int> correct = corrects(of_rank(share, rank), seed);
    double own = 0, real = 0;
    for (size_t k = 0; k < correct.size(); ++k) {
      twice += correct[k];
      ++read;
      if (rank + static_cast<int64_t>(k) * share.world >= share.length) continue;
      own += correct[k];
      ++real;
    }
    hits += own;
    all.samples += real;
    all.own.push_back(own / std::max(real, 1.0));
    means += all.own.back() / share.world;
  }
  all.padded = twice / read;
  all.means = means;
  all.of_length = twice / static_cast<double>(share.length);
  all.half_padded = hits / read;
  all.exact = hits / all.samples;
  return all;
}

inline bool nearly(double a, double b) { return std::abs(a - b) < 1e-12; }

/// Returns the misconception that explains the accuracy that a rank has got.
inline Because because_of(const data::Share& share, const Counted& all, double got,
                          int rank) {
  if (!std::isfinite(got)) {
    return {
        "a rank whose samples are all padding has counted none: divide after the "
        "sum, not before",
        "A mean of means"};
  }
  if (share.drop_last && nearly(got, all.of_length)) {
    return {
        "with drop_last some samples are never read: divide by those that count, "
        "not by the length of the data set",
        "What padding does to an evaluation"};
  }
  if (nearly(got, all.padded)) {
    return {
        "padding counts here: what was read twice is counted twice, in the numerator "
        "and in the denominator",
        "What padding does to an evaluation"};
  }
  if (nearly(got, all.of_length)) {
    return {
        "divided by the length of the data set, but what was read twice is counted "
        "twice in the numerator: such an accuracy can exceed 1",
        "What padding does to an evaluation"};
  }
  if (nearly(got, all.own[rank])) {
    return {
        "this is the rank's own accuracy: the counts of all ranks have to be "
        "summed",
        "A mean of means"};
  }
  if (nearly(got, all.means) && share.length < share.world) {
    return {
        "a rank that has only padding counts no sample and has no accuracy: sum the "
        "counts, then divide",
        "A mean of means"};
  }
  if (nearly(got, all.means)) {
    return {
        "the mean of the ranks' accuracies gives the samples of a rank that has few "
        "of them a larger weight: sum the counts, then divide",
        "A mean of means"};
  }
  if (nearly(got, all.means * share.world)) {
    return {"a sum of accuracies is not an accuracy: sum the counts, then divide",
            "A mean of means"};
  }
  if (nearly(got, all.half_padded)) {
    return {
        "padding counts as a sample here, although not as a correct one: it must be "
        "left out of both counts",
        "What padding does to an evaluation"};
  }
  if (nearly(got, 100 * all.exact)) {
    return {"the share of samples, from 0 to 1, not per cent", "A mean of means"};
  }
  if (nearly(got, all.exact * all.samples / (share.length * share.world))) {
    return {
        "the length of the data set is the same on all ranks: if each of them adds it, "
        "the sum is too large by a factor of the number of ranks",
        "A mean of means"};
  }
  if (rank > 0) {
    return {"every rank returns the same number, and rank 0's is right",
            "A mean of means"};
  }
  if (got == std::floor(all.exact)) {
    return {"a division of integers drops the fraction: divide doubles",
            "A mean of means"};
  }
  return {
      "correct ones divided by samples, both summed over all ranks, and neither "
      "with padding: positions at or after the length. All other samples count",
      "What padding does to an evaluation"};
}

}  // namespace lockstep::lessons
