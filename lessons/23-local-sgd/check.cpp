#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <utility>

#include "lessons/machine/exam.h"
#include "lessons/machine/local_by_hand.h"
#include "lessons/machine/local_in_loops.h"
#include "lessons/machine/predicates.h"
#include "lessons/machine/ranks.h"

namespace lockstep::lessons::lesson_23 {

using sharing::LocalSgdOptions;

constexpr const char *kWhen = "When it is due", *kWhat = "What is averaged",
                     *kFlat = "One flat tensor", *kSame = "Is it the same as DDP?",
                     *kBytes = "What it saves";

// --- when

constexpr const char* kEveryStep =
    "the optimizer's step is made in every step, once, also in the warm-up and where "
    "an average is due";

/// Returns how often a rank has done something in a step.
size_t times(const std::string& calls, const std::string& what) {
  size_t count = 0, at = 0;
  for (; (at = calls.find(what, at)) != std::string::npos; ++at) ++count;
  return count;
}

Because why_not_in_order(const std::string& got) {
  if (got == "step") {
    return {"the first average follows the first step behind the warm-up, not the H-th",
            kWhen};
  }
  if (times(got, "step") != 1) return {kEveryStep, kWhen};
  if (times(got, "average") > 1) {
    return {
        "after one average the ranks' weights are equal: a second one changes nothing",
        kWhen};
  }
  return {
      "each rank makes its own step first, and what comes of it is averaged. An "
      "average before the step leaves the ranks with different weights",
      kWhen};
}

LESSON_TEST(23, step_then_average, "the optimizer's step, then the average") {
  const std::string first = calls_of({4, 0}, 0);
  exam.equal("step 0 with period 4 and no warm-up", std::string("step average"), first,
             why_not_in_order(first));
  exam.equal("step 1 with period 4 and no warm-up", std::string("step"),
             calls_of({4, 0}, 1),
             {"each step is a step of the optimizer; the average is not due", kWhen});
  exam.equal("step 2 with period 4 and a warm-up of 12 steps", std::string("step"),
             calls_of({4, 12}, 2),
             {"in the warm-up nothing is averaged; the optimizer makes its steps all "
              "the same",
              kWhen});
  exam.equal("step 1 with period 1", std::string("step average"), calls_of({1, 0}, 1),
             {"one step, one average", kWhen});
}

Because why_not_due(const LocalSgdOptions& options, const std::vector<int64_t>& got) {
  const int64_t warmup = options.warmup_steps, period = options.period;
  if (std::ranges::any_of(got, [&](int64_t step) { return step < warmup; })) {
    return {
        "in the warm-up no average is due. (In C++, −4 % 4 is 0: a negative number "
        "needs a test of its own)",
        kWhen};
  }
  if (!got.empty() && got.front() != warmup &&
      std::ranges::all_of(got, [&](int64_t step) { return step % period == 0; })) {
    return {"counted from the beginning: the period begins at the end of the warm-up",
            kWhen};
  }
  if (!got.empty() && got.front() > warmup) {
    return {
        "the first average comes right after the first step that follows the "
        "warm-up, not a period later",
        kWhen};
  }
  return {"after the step whose number is the warm-up, and every period from there",
          kWhen};
}

LESSON_TEST(23, when_due,
            "averages after the steps that are due, and after no others") {
  std::mt19937_64 random(exam.seed());
  std::vector<LocalSgdOptions> cases{{4, 12}, {4, 13}, {4, 14},
                                     {4, 15}, {4, 0},  {1, 2}};
  for (int i = 0; i < 8; ++i) {
    cases.push_back(
        {1 + static_cast<int64_t>(random() % 6), static_cast<int64_t>(random() % 15)});
  }
  for (const LocalSgdOptions& options : cases) {
    std::vector<int64_t> expected;
    for (int64_t s = options.warmup_steps; s < 20; s += options.period) {
      expected.push_back(s);
    }
    const std::vector<std::string> calls = calls_in(options, 20);
    const std::vector<int64_t> got = averaged(calls);
    const std::string which =
        fmt::format("warm-up {} and period {} (seed {})", options.warmup_steps,
                    options.period, exam.seed());
    exam.equal("steps out of 20 that an average follows, " + which, expected, got,
               why_not_due(options, got));
    for (int64_t step = 0; step < 20; ++step) {
      const bool due = std::ranges::count(expected, step) > 0;
      exam.equal(fmt::format("calls in step {}, {}", step, which),
                 std::string(due ? "step average" : "step"), calls[step],
                 {kEveryStep, kWhen});
    }
  }
  exam.equal("steps out of 9 that an average follows, period 4 (all 9 were 9 averages)",
             std::vector<int64_t>{0, 4, 8}, averaged(calls_in({4, 0}, 9)),
             {"in between the ranks need no network", kWhen});
}

LESSON_TEST(23, by_number, "which steps are due depends on their numbers alone") {
  const auto due = [](int64_t step) { return NotedStep({4, 1}, step).averages; };
  const Because because{
      "what is due follows from the step's number. A counter of your own begins at 0 "
      "in a resumed run, and several ranks in one process share it",
      kWhen};
  for (const int64_t step : {5, 5, 9, 1, 13}) {
    exam.equal(fmt::format("averages after step {}, period 4 and warm-up 1, in a run "
                           "that is resumed there",
                           step),
               1, due(step), because);
  }
  for (const int64_t step : {6, 3, 0, 12}) {
    exam.equal(fmt::format("averages after step {}, period 4 and warm-up 1, in a run "
                           "that is resumed there",
                           step),
               0, due(step), because);
  }
}

// --- what

constexpr int kRanks = 3;
constexpr double kRounding = 1e-6;  // relative: a factor may be a float
constexpr double kLargest = 250;    // about the largest weight in training

/// Averages once on each rank, and passes it to `look`.
void average_on_ranks(int ranks, const std::function<void(const RankByHand&)>& look) {
  HeadStart head;
  on_ranks(ranks, "all ranks make the same all-reduces, and nothing fails",
           {"every rank takes part in each all-reduce, in the same order. What is "
            "averaged is `state.parameters[i].value`: these tensors have no gradients "
            "here",
            kFlat},
           [&](Rank& rank) {
             RankByHand by_hand(rank.device, *rank.group, rank.rank);
             if (rank.rank > 0) head.wait_for_rank_0(0);
             by_hand.average();
             if (rank.rank == 0) head.rank_0_is_ahead();
             runtime::context(rank.device).synchronize();
             look(by_hand);
           });
}

LESSON_TEST(23, the_mean, "each parameter becomes the mean of the ranks") {
  for (const int ranks : {kRanks, 4}) {
    const double sum_of_factors = ranks == 4 ? 20 : 12;
    average_on_ranks(ranks, [&](const RankByHand& rank) {
      const std::vector<double> got = RankByHand::all(rank.state.parameters);
      const std::vector<double> own = RankByHand::initial(1, rank.rank);
      for (size_t k = 0; k < got.size(); ++k) {
        const double sum = sum_of_factors * (static_cast<double>(k) + 1);
        const double mean = sum / ranks;
        exam.that(
            std::abs(got[k] - mean) < kRounding * mean,
            fmt::format("element {} of all parameters on rank {}, after an average of "
                        "{} ranks",
                        k, rank.rank, ranks),
            fmt::format("{}", mean), fmt::format("{}", got[k]),
            ranks == 4 && std::abs(got[k] - sum / kRanks) < kRounding * sum
                ? Because{"divided by 3, but there are 4 ranks: `group.size()`", kWhat}
                : why_no_mean(own[k], sum, got[k], ranks));
      }
    });
  }
}

LESSON_TEST(23, nothing_else, "momentum and buffers stay as they are") {
  average_on_ranks(kRanks, [&](const RankByHand& rank) {
    exam.close(
        fmt::format("the momentum on rank {} after an average", rank.rank),
        RankByHand::initial(10, rank.rank), RankByHand::all(rank.state.optimizer), 0,
        {"PyTorch's averager is given the model's parameters. The momentum belongs "
         "to the optimizer, and stays on its rank",
         kWhat});
    exam.close(
        fmt::format("the running statistics on rank {} after an average", rank.rank),
        RankByHand::initial(100, rank.rank), RankByHand::all(rank.state.buffers), 0,
        {"parameters are averaged. Buffers are none: each rank keeps its own", kWhat});
  });
}

LESSON_TEST(23, one_message, "one all-reduce, of the parameters' bytes") {
  auto owned = std::make_unique<Noted>(4);
  const Noted& noted = *owned;
  distributed::ProcessGroup group(std::move(owned));
  const Device device{DeviceType::reference, 0};
  RankByHand rank(device, group, 0);
  rank.average();
  runtime::context(device).synchronize();
  int64_t bytes = 0;
  for (const auto& [bucket, size] : noted.buckets) bytes += size;
  exam.at_most("bytes in one average of 1,000 bytes of parameters", int64_t{1000},
               bytes,
               {"nothing but the parameters goes over the network, and once", kWhat});
  exam.equal(
      "all-reduces in one average of 5 parameters", size_t{1}, noted.buckets.size(),
      {"each message costs its latency: pack all parameters, then reduce the flat "
       "tensor once",
       kFlat});
  exam.equal("bytes in one average of 1,000 bytes of parameters", int64_t{1000}, bytes,
             {"all parameters take part", kWhat});
}

// --- both, in training

constexpr int kSteps = 6;

/// Trains with the learner's functions and the engine's optimizer.
void train_on_ranks(
    int64_t period, const optim::SgdOptions& sgd,
    const std::function<void(int rank, int step, const std::vector<double>& weights)>&
        look) {
  on_ranks(kRanks, "all ranks make the same all-reduces",
           {"every rank takes part in each average", kWhen}, [&](Rank& rank) {
             RankByHand mine(rank.device, *rank.group, 0);  // all begin with the same
             mine.optimizer = std::make_unique<optim::Sgd>(mine.state.parameters, sgd);
             for (int step = 0; step < kSteps; ++step) {
               const auto gradient =
                   gradient_of(RankByHand::all(mine.state.parameters), rank.rank);
               auto next = gradient.begin();
               for (const auto& [name, parameter] : mine.state.parameters) {
                 const std::vector<double> part(next, next + parameter.numel());
                 next += parameter.numel();
                 parameter.set_grad(
                     ops::copy_to(Tensor::from(part, {parameter.numel()}, DType::f64),
                                  rank.device, {"h2d", "test"}));
               }
               sharing::local_step().in_use()(mine, {period, 0}, step);
               mine.state.optimizer = mine.optimizer->state();
               runtime::context(rank.device).synchronize();
               look(rank.rank, step, RankByHand::all(mine.state.parameters));
             }
           });
}

LESSON_TEST(23, equals_ddp, "period 1, SGD with momentum: DDP's weights") {
  const optim::SgdOptions sgd{0.05, 0.9, 0.01};
  const auto ddp = plain_training(kRanks, kSteps, 1, sgd, true);
  train_on_ranks(1, sgd, [&](int rank, int step, const std::vector<double>& weights) {
    exam.close(
        fmt::format("weights on rank {} after step {} with period 1, as with DDP", rank,
                    step),
        ddp[step][rank], weights, kRounding * kLargest,
        {"the mean of the ranks' steps is the step with their mean gradient", kSame});
  });
}

LESSON_TEST(23, on_their_own, "period 4: alone in between, equal after an average") {
  const optim::SgdOptions sgd{0.05, 0.9, 0.01};
  const auto plain = plain_training(kRanks, kSteps, 4, sgd, false);
  train_on_ranks(4, sgd, [&](int rank, int step, const std::vector<double>& weights) {
    exam.close(
        fmt::format("weights on rank {} after step {} with period 4", rank, step),
        plain[step][rank], weights, kRounding * kLargest,
        {"each rank continues from the mean of the weights and keeps its own momentum",
         kWhat});
  });
}

LESSON_TEST(23, resnet, "ResNet18, three ranks: averages after the steps 1, 3 and 5") {
  const tracer::Trace& trace = exam.train(
      "-a resnet18 --dataset generated --device-type null --devices 3 -b 6 -j 0 "
      "--steps 6 --trace-steps 0:6 --mode local-sgd --local-steps 2 --warmup-steps 1",
      {"three ranks train ResNet18 with your functions; the run's output is printed "
       "below",
       "What the trace shows"});
  std::map<int64_t, std::map<int64_t, int64_t>>
      bytes;  // of the averages, by rank, step
  for (const tracer::Event* event : events_of(trace, "collective")) {
    if (text(*event, "why") != "average") continue;
    bytes[number(*event, "rank")][event->step] += number(*event, "bytes");
  }
  exam.equal("ranks that average", size_t{kRanks}, bytes.size(),
             {"all of them, with the label that `label()` returns", kFlat});
  for (const auto& [rank, of_steps] : bytes) {
    std::vector<int64_t> steps;
    for (const auto& [step, size] : of_steps) {
      steps.push_back(step);
      exam.equal(fmt::format("bytes of ResNet18's average on rank {} after step {}",
                             rank, step),
                 int64_t{11'173'962} * 4, size,
                 {"11,173,962 parameters, with 4 bytes each, once", kWhat});
    }
    exam.equal(
        fmt::format("steps of ResNet18 that an average follows on rank {}, warm-up "
                    "1 and period 2",
                    rank),
        std::vector<int64_t>{1, 3, 5}, steps, {"the same steps on all ranks", kWhen});
  }
}

struct LocalRun {
  int64_t steps, period, warmup;
  int ranks;
  int64_t bytes;
};

using BytesSent = int64_t(int64_t, int64_t, int64_t, int, int64_t);

/// Returns why `got` is not what `averages` averages send.
Because why_not_sent(const LocalRun& run, int64_t averages, int64_t got,
                     BytesSent* bytes_sent) {
  const int64_t part = run.bytes / run.ranks, one = 2 * (run.ranks - 1) * part;
  if (averages == 0) return {"the run ends in the warm-up: no average", kWhen};
  if (averages * one > INT32_MAX) {
    return {
        "the smaller cases are right. This one has too many bytes for 32 bits, and too "
        "many digits for a float: count in int64_t",
        kBytes};
  }
  if (got == averages * run.bytes && run.ranks > 2) {
    return {
        "an all-reduce is more than one trip: in a ring each rank "
        "sends 2 (N − 1) parts of 1/N",
        kBytes};
  }
  const int64_t alone = bytes_sent(1, 1000, 0, run.ranks, run.bytes);  // one average
  if (alone != 0 && alone != one && got == averages * alone) {
    return {
        "the number of averages is right; each sends 2 (N − 1) parts of bytes / N from "
        "a rank",
        kBytes};
  }
  if ((alone == 0 || alone == one) && one > 0 && got % one == 0) {
    return {fmt::format("{} average{}; there {} {}: the first comes after one step, "
                        "not after a period",
                        got / one, got == one ? "" : "s", averages == 1 ? "is" : "are",
                        averages),
            kBytes};
  }
  return {"the number of averages, times what a ring all-reduce sends", kBytes};
}

LESSON_TEST(23, bytes, "bytes that leave a rank") {
  auto* const bytes_sent = exam.function<BytesSent>("lesson_bytes_sent");
  std::mt19937_64 random(exam.seed());
  std::vector<LocalRun> runs{
      {8, 4, 0, 3, 300},   {9, 4, 0, 3, 300},  {1, 4, 0, 4, 400},  {13, 4, 13, 2, 200},
      {14, 4, 13, 2, 200}, {5, 4, 13, 2, 200}, {10, 1, 0, 8, 800}, {7, 3, 2, 1, 100}};
  for (int i = 0; i < 8; ++i) {
    const int ranks = 1 + static_cast<int>(random() % 6);
    runs.push_back({1 + static_cast<int64_t>(random() % 40),
                    1 + static_cast<int64_t>(random() % 6),
                    static_cast<int64_t>(random() % 20), ranks, ranks * 100});
  }
  runs.push_back({100'000, 4, 0, 4, int64_t{11'173'962} * 4});  // ResNet18
  for (const LocalRun& run : runs) {
    const auto& [steps, period, warmup, ranks, bytes] = run;
    int64_t averages = 0;
    for (int64_t s = warmup; s < steps; s += period) ++averages;
    const int64_t got = bytes_sent(steps, period, warmup, ranks, bytes);
    exam.equal(fmt::format("bytes that leave a rank in {} step{}, period {}, warm-up "
                           "{}, {} rank{}, {} bytes of parameters (seed {})",
                           steps, steps == 1 ? "" : "s", period, warmup, ranks,
                           ranks == 1 ? "" : "s", bytes, exam.seed()),
               averages * 2 * (ranks - 1) * (bytes / ranks), got,
               why_not_sent(run, averages, got, bytes_sent));
  }
}

}  // namespace lockstep::lessons::lesson_23
