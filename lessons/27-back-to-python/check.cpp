#include <cmath>
#include <numeric>

#include "lessons/machine/exam.h"
#include "lessons/machine/lab.h"
#include "lessons/machine/predicates.h"

// judge.py runs the learner's code and PyTorch's own classes on three ranks; here their
// results are compared, and the profiles are read.

namespace lockstep::lessons::lesson_27 {

using Sizes = std::vector<int64_t>;

constexpr const char *kPieces = "Four pieces", *kMean = "A mean, gradient by gradient",
                     *kHook = "In the middle of backward",
                     *kView = "A bucket and its views", *kShard = "One seed, all ranks",
                     *kProfile = "What a profile is";

bool nearly(double a, double b) { return std::abs(a - b) < 1e-3; }

/// Explains gradients that are `factor` times as large as they should be.
std::string about_factor(double factor) {
  if (nearly(factor, kRanks)) {
    return "this is the sum over all ranks: it has to be divided by their number";
  }
  if (nearly(factor, 1.0 / kRanks)) {
    return "divided by the number of ranks twice: once is enough, before the "
           "all-reduce "
           "or after it";
  }
  if (nearly(factor, kRanks / 2.0)) {
    return "divided by 2, but there are three ranks: dist.get_world_size()";
  }
  return "";
}

// --- average_gradients

LESSON_TEST(27, gradients_are_means,
            "average_gradients: the gradients of DistributedDataParallel") {
  for (const Facts& facts : facts_of(exam, "average", "average_gradients")) {
    if (facts.contains("unfinished")) {
      exam.equal("average_gradients: all-reduces that it has begun and not waited for",
                 0, facts["unfinished"].get<int>(),
                 {"with async_op=True an all-reduce has only begun when the call "
                  "returns: wait() for each of them. One can end before another that "
                  "was begun first, and backward of the next step does not wait",
                  kMean});
    }
    exam.that(!facts.contains("number"), "average_gradients: gradients afterwards",
              "a frozen parameter has none, as before",
              "one more or one fewer than before",
              {"only gradients change: nobody gets one, and nobody loses one", kMean});
    exam.that(
        facts["weights_kept"], "average_gradients: the weights afterwards", "as before",
        "others",
        {"gradients are averaged, not weights: the optimizer has not run yet", kMean});
    const double error = facts["error"];
    const std::string known = about_factor(facts["factor"]);
    exam.that(
        error <= kRounding,
        "average_gradients: largest difference to DistributedDataParallel's "
        "gradients, relative",
        "at most 1e-12", fmt::format("{:.3g}", error),
        {facts["untouched"] ? "the gradients are each rank's own, as before: the mean "
                              "must be written into parameter.grad, on every rank"
         : !known.empty()   ? known
                          : "each gradient becomes its mean over all ranks, on all of "
                            "them",
         kMean});
    exam.that(
        facts["in_place"], "average_gradients: the memory of the gradients",
        "that of before", "another tensor's",
        {"a new tensor costs memory for one gradient more, and views of the old one do "
         "not have the mean: all_reduce and /= work in place",
         kMean});
  }
}

LESSON_TEST(27, one_call_each, "the profile has one all-reduce for each gradient") {
  const auto facts = facts_of(exam, "average", "average_gradients");
  for (int rank = 0; rank < kRanks; ++rank) {
    const tracer::Trace trace = profile_of(exam, "average", rank);
    exam.equal("average_gradients: other collectives in the profile",
               std::vector<std::string>{}, other_collectives(trace),
               {"one all-reduce does it: reduce and broadcast go through one rank, and "
                "all_gather brings everybody's gradients to everybody",
                kMean});
    const auto expected = facts[rank]["sizes"].get<Sizes>();
    const Sizes got = all_reduces(trace);
    const int64_t all = std::accumulate(expected.begin(), expected.end(), int64_t{0});
    exam.equal(
        "average_gradients: bytes of all all-reduces in the profile", all * 8,
        std::accumulate(got.begin(), got.end(), int64_t{0}) * 8,
        {"each gradient once, and nothing for a parameter that is frozen", kMean});
    exam.equal("average_gradients: all-reduces in the profile", expected.size(),
               got.size(),
               {"here it is one for each gradient; joining them is what buckets are "
                "for",
                kMean});
    exam.equal(
        "average_gradients: values in each all-reduce, in the order of the calls",
        expected, facts[rank]["calls"].get<Sizes>(),
        {"the order is that of model.parameters(): it must be the same on all "
         "ranks, whatever they compute",
         kMean});
  }
}

// --- hook

LESSON_TEST(27, hook_means, "hook: the gradients of DistributedDataParallel") {
  if (const Facts first = facts_of(exam, "hooked", "hook")[0]; first["early"]) {
    exam.equal(
        "hook: futures that are complete before the other ranks begin backward", 0,
        first["complete"].get<int>(),
        {"a future is complete when its value is there, and these means need all "
         "ranks: return the all-reduce's own future, or then() of it, not one "
         "whose result is set at once",
         kHook});
  }
  for (const Facts& facts : facts_of(exam, "hooked", "hook")) {
    const double error = facts["error"];
    const std::string known = about_factor(facts["factor"]);
    exam.that(error <= kRounding,
              "hook: largest difference to the gradients without a hook, relative",
              "at most 1e-12", fmt::format("{:.3g}", error),
              {!known.empty() ? known + ". With a hook, DDP does not divide"
               : error < 1e-2 && error > 1e-8
                   ? "these are means in fewer digits: all-reduce in the buffer's type"
                   : "the future's value replaces the bucket: the means over all ranks",
               kHook});
  }
}

LESSON_TEST(27, hook_one_call, "the profile has one all-reduce for each bucket") {
  const auto facts = facts_of(exam, "hooked", "hook");
  for (int rank = 0; rank < kRanks; ++rank) {
    const tracer::Trace trace = profile_of(exam, "hook", rank);
    Sizes expected;
    for (const Facts& bucket : facts[rank]["buckets"]) {
      expected.push_back(bucket["values"]);
    }
    exam.equal("hook: other collectives in the profile", std::vector<std::string>{},
               other_collectives(trace), {"an all-reduce is all that it takes", kHook});
    exam.equal("hook: values in the all-reduces in the profile, by size",
               sorted(expected), sorted(all_reduces(trace)),
               {"a bucket is one flat tensor so that it is one message: all-reduce the "
                "buffer, not its views",
                kView});
  }
}

LESSON_TEST(27, hook_in_place, "the means are in the bucket's own buffer") {
  for (const Facts& facts : facts_of(exam, "hooked", "hook")) {
    exam.that(
        facts["in_place"], "hook: the memory of the future's value",
        "the bucket's buffer", "another tensor's",
        {"a result in other memory costs a second bucket, and is then copied back: "
         "divide with /= and all-reduce the buffer itself",
         kView});
  }
}

LESSON_TEST(27, hook_returns, "the hook returns before the other ranks are there") {
  const auto facts = facts_of(exam, "hooked", "hook");
  exam.that(facts[0]["early"], "hook: when it has returned for all buckets",
            "before the other ranks begin backward", "only after they have",
            {"backward waits here for each bucket, so nothing overlaps: start the "
             "all-reduce with async_op=True, and do the rest in future.then()",
             kHook});
}

LESSON_TEST(27, hook_norms, "norms of the averaged gradients, bucket by bucket") {
  for (const Facts& facts : facts_of(exam, "hooked", "hook")) {
    for (const Facts& bucket : facts["buckets"]) {
      const int index = bucket["index"];
      const std::string what = fmt::format("norms[{}]", index);
      exam.that(
          bucket.contains("written"), what, "a list of numbers",
          fmt::format("nothing; norms has the keys {}", facts["keys"].dump()),
          {"each bucket writes its own norms: bucket.index() says which it is", kView});
      const auto expected = bucket["expected"].get<std::vector<double>>();
      const auto got = bucket["written"].get<std::vector<double>>();
      exam.equal(what + ": how many", expected.size(), got.size(),
                 {got.size() > expected.size()
                      ? "one for each of bucket.gradients(), of this step only: norms "
                        "still has those of the step before, which are replaced"
                      : "one for each of bucket.gradients()",
                  kView});
      exam.that(
          bucket["types"] == Facts{"float"}, what + ": type of its elements", "float",
          bucket["types"].dump(),
          {"a list of numbers: norm() is a tensor, and .item() is its number", kView});
      const auto own = bucket["own"].get<std::vector<double>>();
      const bool early = std::abs(got[0] - own[0]) < 1e-9 * own[0] ||
                         std::abs(got[0] - own[0] / kRanks) < 1e-9 * own[0];
      exam.close(
          what, expected, got, 1e-9,
          {early ? "these are the norms of this rank's own gradients: when the hook "
                   "runs, the means are not there yet. future.then() is called "
                   "when they are"
                 : "the norm of each averaged gradient, in the order of "
                   "bucket.gradients()",
           kView});
    }
  }
}

// --- Shard

/// Returns the cases of rank 0's process, which has all ranks' shards.
Facts shards(const Exam& exam) {
  return facts_of(exam, "samples", "Shard")[0].at("cases");
}

std::string named(const Facts& shard) {
  return fmt::format("{} samples, rank {} of {}, seed {}", shard["length"].get<int>(),
                     shard["rank"].get<int>(), shard["world"].get<int>(),
                     shard["seed"].get<int>());
}

LESSON_TEST(27, shard_lengths, "Shard: all ranks read equally many samples") {
  for (const Facts& shard : shards(exam)) {
    exam.equal("len() with " + named(shard), shard["expected_size"].get<int>(),
               shard["size"].get<int>(),
               {"length / world, rounded up, on every rank: with fewer samples a rank "
                "would have a step less, and the others would wait for it",
                kShard});
  }
}

LESSON_TEST(27, shard_samples, "Shard: DistributedSampler's samples in epoch 0") {
  for (const Facts& shard : shards(exam)) {
    const Facts& epoch = shard["epochs"][0];
    exam.equal(
        "samples with " + named(shard), epoch["expected"].get<Sizes>(),
        epoch["got"].get<Sizes>(),
        {"one order for all ranks, from a generator with seed + epoch; dealt like "
         "cards; where it ends, it begins again, for all ranks together",
         kShard});
    exam.that(
        epoch["got"].empty() || epoch["types"] == Facts{"int"},
        "type of the samples with " + named(shard), "int", epoch["types"].dump(),
        {"a data set is indexed with integers, and a permutation is a tensor, whose "
         "elements are tensors: order.tolist()",
         kShard});
    exam.equal(
        "the same samples, read again in the same epoch, with " + named(shard),
        epoch["expected"].get<Sizes>(), epoch["again"].get<Sizes>(),
        {"asking twice is not another epoch: only set_epoch says that it is", kShard});
    exam.that(epoch["apart"], "torch's own generator, with " + named(shard),
              "as before", "changed",
              {"torch.manual_seed changes what everything else draws, for example "
               "dropout: the order needs a torch.Generator of its own",
               kShard});
  }
}

LESSON_TEST(27, shard_epochs, "Shard: another order after set_epoch") {
  for (const Facts& shard : shards(exam)) {
    for (const Facts& epoch : shard["epochs"]) {
      const int number = epoch["epoch"];
      exam.equal(
          fmt::format("samples of epoch {} with {}", number, named(shard)),
          epoch["expected"].get<Sizes>(), epoch["got"].get<Sizes>(),
          {"the generator's seed is seed + epoch, so that each epoch has an order "
           "of its own",
           kShard});
    }
  }
}

// --- profile_step

LESSON_TEST(27, one_step_recorded, "profile_step: one step is recorded, the last") {
  const auto facts = facts_of(exam, "recorded", "profile_step");
  for (int rank = 0; rank < kRanks; ++rank) {  // two ranks may have written one file
    const std::string file = fmt::format("profile/rank-{}.json", rank);
    exam.that(fs::exists(folder_of(exam) / file),
              fmt::format("the profile of rank {}", rank), file, "no such file",
              {"every rank records itself, into a file of its own", kProfile});
  }
  for (int rank = 0; rank < kRanks; ++rank) {
    const std::string file = fmt::format("profile/rank-{}.json", rank);
    const int warm_up = facts[rank]["warm_up"];
    exam.equal(fmt::format("calls of step() on rank {}", rank), warm_up + 1,
               facts[rank]["steps"].get<int>(),
               {"warm_up of them, and then one that is recorded", kProfile});
    const tracer::Trace trace = profile_of(exam, "profile/rank", rank);
    exam.equal("the rank that " + file + " is from", rank,
               trace.other.value("distributedInfo", tracer::Json::object())
                   .value("rank", rank),
               {"each file has the name of the rank that wrote it", kProfile});
    std::vector<std::string> steps;
    for (const tracer::Event* event : events_of(trace, "op")) {
      const std::string name(event->name.view());
      if (name.starts_with("training step ")) steps.push_back(name);
    }
    exam.equal("steps in " + file,
               std::vector<std::string>{fmt::format("training step {}", warm_up)},
               steps,
               {"only the step after the warm-up: in the first one DDP has not rebuilt "
                "its buckets, and in a recording of several steps you cannot see where "
                "one ends",
                kProfile});
  }
}

LESSON_TEST(27, shapes_recorded, "profile_step: the profile tells every byte") {
  const auto facts = facts_of(exam, "recorded", "profile_step");
  for (int rank = 0; rank < kRanks; ++rank) {
    const Sizes sizes = all_reduces(profile_of(exam, "profile/rank", rank));
    exam.that(!sizes.empty(), "all-reduces in the profile", "one for each bucket",
              "none", {"backward belongs to the step", kProfile});
    exam.that(
        sorted(sizes)[0] > 0, "values in the first all-reduce of the profile",
        "a number", "unknown",
        {"without record_shapes=True a profile has names and times only", kProfile});
    exam.equal("bytes of all all-reduces in the profile",
               facts[rank]["values"].get<int64_t>() * 8,
               std::accumulate(sizes.begin(), sizes.end(), int64_t{0}) * 8,
               {"all gradients travel once in a step", kProfile});
  }
}

// --- together

LESSON_TEST(27, trains_alike, "two epochs with your pieces end at DDP's weights") {
  for (const Facts& facts : facts_of(exam, "trained", "two epochs of training")) {
    const double error = facts["error"];
    exam.that(
        error <= kRounding,
        "two epochs with Shard and average_gradients: largest difference to the "
        "weights of DistributedSampler and DistributedDataParallel, relative",
        "at most 1e-12", fmt::format("{:.3g}", error),
        {"each part agrees with PyTorch's alone: is anything kept from one call to "
         "the next?",
         kPieces});
  }
}

LESSON_TEST(27, two_ranks, "the same on two ranks") {
  const auto facts =
      facts_of(exam, "two_ranks", "average_gradients and hook on two ranks");
  for (const char* which : {"average", "hook"}) {
    for (int rank = 0; rank < 2; ++rank) {
      const double error = facts[rank][which]["error"];
      exam.that(error <= kRounding,
                fmt::format("{} on two ranks: largest difference to the gradients of "
                            "DistributedDataParallel, relative",
                            which),
                "at most 1e-12", fmt::format("{:.3g}", error),
                {nearly(facts[rank][which]["factor"], 2.0 / kRanks)
                     ? "divided by 3, but there are two ranks: dist.get_world_size()"
                     : "on three ranks it is right: what depends on their number?",
                 kMean});
    }
  }
}

}  // namespace lockstep::lessons::lesson_27
