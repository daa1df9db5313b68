#include <algorithm>
#include <cmath>
#include <optional>

#include "engine/autograd/engine.h"
#include "engine/distributed/ddp/sync_batch_norm.h"
#include "engine/ops/copy.h"
#include "engine/runtime/device_context.h"
#include "lessons/machine/exam.h"
#include "lessons/machine/predicates.h"
#include "lessons/machine/ranks.h"
#include "tracer/format/keys.h"

namespace lockstep::lessons::lesson_08 {

using distributed::BackwardSums;
using distributed::BatchStatistics;
using distributed::CollectiveLabel;
using GroupPtr = std::shared_ptr<distributed::ProcessGroup>;
using Numbers = std::vector<double>;

constexpr double kTolerance = 1e-12;  // double, and numbers of moderate size
const CollectiveLabel kLabel{.why = "sync_batch_norm", .tensor = "bn"};
const char* const kSums = "What may be added up";
const char* const kBack = "The way back";

constexpr const char* kSameCalls = "all ranks make the same calls in the same order";
const Because kOtherCalls{
    "a collective has no address: all ranks must make the same calls, in the same "
    "order and of the same size, no matter how many elements they hold",
    "One message"};

Tensor on(Device device, const Numbers& numbers, const Shape& sizes) {
  return ops::copy_to(Tensor::from(numbers, sizes, DType::f64), device,
                      {"h2d", "test"});
}

constexpr int64_t kChannels = 3;

/// Returns element i of channel c on rank r: every rank has different images.
double element(int rank, int64_t c, int64_t i) {
  return 2.0 * static_cast<double>(c) - 1 + 3 * rank +
         std::sin(static_cast<double>(7 * i + 3 * c + rank)) *
             (1 + static_cast<double>(c));
}

/// The mean and biased variance of each channel over several ranks' elements.
struct Moments {
  Numbers mean, var;
  double count = 0;

  Moments(const std::vector<int64_t>& counts, int first, int last) {
    for (int r = first; r < last; ++r) count += static_cast<double>(counts[r]);
    for (int64_t c = 0; c < kChannels; ++c) {
      double sum = 0, squares = 0;
      const auto visit = [&](auto f) {
        for (int r = first; r < last; ++r) {
          for (int64_t i = 0; i < counts[r]; ++i) f(element(r, c, i));
        }
      };
      visit([&](double x) { sum += x; });
      visit([&](double x) { squares += (x - sum / count) * (x - sum / count); });
      mean.push_back(sum / count);
      var.push_back(squares / count);
    }
  }
};

/// The result of the learner's function on each rank.
struct Answers {
  std::vector<Numbers> mean, var;
  explicit Answers(const std::vector<int64_t>& counts)
      : mean(counts.size()), var(counts.size()) {
    on_ranks(static_cast<int>(counts.size()), kSameCalls, kOtherCalls, [&](Rank& rank) {
      const auto& [r, size, device, group] = rank;
      const Moments mine(counts, r, r + 1);
      const BatchStatistics all = distributed::sync_statistics()(
          {on(device, mine.mean, {kChannels}), on(device, mine.var, {kChannels}),
           on(device, {mine.count}, {1})},
          *group, kLabel);
      mean[r] = values(all.mean);
      var[r] = values(all.var);
    });
  }
};

bool near(const Numbers& a, const Numbers& b) {
  return std::ranges::equal(
      a, b, [](double x, double y) { return std::abs(x - y) <= kTolerance; });
}

void expect_means(const Exam& exam, const std::vector<int64_t>& counts,
                  const std::string& likely) {
  const Answers answers(counts);
  const Moments all(counts, 0, static_cast<int>(counts.size()));
  for (size_t r = 0; r < counts.size(); ++r) {
    const Moments own(counts, static_cast<int>(r), static_cast<int>(r) + 1);
    const bool alone = near(answers.mean[r], own.mean);
    exam.close(fmt::format("rank {} of {}, which hold {} elements: mean", r,
                           counts.size(), fmt::join(counts, ", ")),
               all.mean, answers.mean[r], kTolerance,
               {alone ? "this is the mean of this rank's own part: the sum was used "
                        "before it had arrived (wait() comes first, on every rank), or "
                        "this rank's result does not depend on the others"
                      : likely,
                kSums});
  }
}

const char* const kTraining =
    "-a resnet18 --dataset generated --device-type null --mode ddp --devices 3 -b 6 "
    "--steps 1 --sync-bn --timeout 3";
constexpr int64_t kLayers = 20;

LESSON_TEST(8, asks_and_waits,
            "the ranks exchange their statistics and wait for the result") {
  Answers{{2}};  // reports what is still to be written
  const tracer::Trace& trace = exam.train(
      kTraining, {"ResNet18 trains with your functions; its output is printed below",
                  "What the trace shows"});
  // Rank 0's collectives, and the kernels that use their results.
  Events asked, users;
  for (const tracer::Event& event : trace.events) {
    if (event.pid / 100 != 0) continue;
    if (event.is("collective") && text(event, tracer::keys::why) == "sync_batch_norm") {
      asked.push_back(&event);
    } else if (event.is("kernel") && (event.name == "batch_norm_eval" ||
                                      event.name == "batch_norm_backward_elemt")) {
      users.push_back(&event);
    }
  }
  exam.that(!asked.empty(), "collectives with your label in a training step",
            "at least one for each of 20 layers", "none",
            {"each rank normalises by its own part, as without SyncBatchNorm: without "
             "a message, a rank has no information about the others' images",
             kSums});
  for (const tracer::Event* collective : asked) {
    const tracer::Event* user = nullptr;
    for (const tracer::Event* kernel : users) {
      const bool later = kernel->id > collective->id;
      if (later && (!user || kernel->id < user->id)) user = kernel;
    }
    exam.that(
        user && depends_on(trace, user->id, collective->id),
        fmt::format("the kernel after {} of {}, `{}`", collective->name,
                    text(*collective, "tensor"), user ? user->name : "no such kernel"),
        "it waits for the collective", "it does not",
        {"a collective runs on a separate stream; without .wait() the next operations "
         "read the tensor before the sum has arrived",
         "Waiting", collective->id});
  }
}

LESSON_TEST(8, means_of_equal_parts, "the mean over two ranks with 8 elements each") {
  expect_means(exam, {8, 8},
               "every rank must return the mean over all ranks' elements; an "
               "all-reduce with ReduceOp::sum only adds up the values");
}

LESSON_TEST(8, means_of_unequal_parts, "the mean over ranks with 9, 2 and 4 elements") {
  expect_means(exam, {9, 2, 4},
               "the mean of means counts a rank with few elements as much as one with "
               "many: weight each mean by its count");
}

/// Names the slip that gives `first` instead of `all.var[0]`.
std::string about_variance(double first, const Moments& all,
                           const std::vector<int64_t>& counts) {
  double within = 0;  // the sum of the ranks' own variances
  for (int r = 0; r < static_cast<int>(counts.size()); ++r) {
    within += Moments(counts, r, r + 1).var[0];
  }
  const auto off_by = [&](double difference, double tolerance = kTolerance) {
    return std::abs(first - all.var[0] - difference) < tolerance;
  };
  if (off_by(all.var[0] / (all.count - 1))) {
    return "this is the unbiased variance (divided by n − 1): batch norm normalises by "
           "the biased one, and the engine makes the running variance unbiased itself";
  }
  if (off_by(-within / all.count)) {
    return "the variances that come in are biased (divided by n, not by n − 1): "
           "multiply each by its count";
  }
  if (off_by(1e-5, 1e-7)) {
    return "epsilon is not part of the variance: the engine adds it when normalising";
  }
  return "the variances within the ranks ignore how far apart the ranks' means are: "
         "combine sums of squares, not variances";
}

LESSON_TEST(8, variance, "the variance over ranks whose means differ") {
  const std::vector<int64_t> counts{9, 2, 4};
  const Answers answers(counts);
  const Moments all(counts, 0, 3);
  for (size_t r = 0; r < counts.size(); ++r) {
    const double first = answers.var[r].empty() ? 0 : answers.var[r][0];
    exam.close(fmt::format("rank {}: variance", r), all.var, answers.var[r], kTolerance,
               {about_variance(first, all, counts), kSums});
  }
}

LESSON_TEST(8, next_batch, "each call combines what it gets, and keeps its results") {
  const std::vector<int64_t> full{8, 8}, rest{9, 2};
  std::vector<Numbers> first(2), second(2);
  on_ranks(2, kSameCalls, kOtherCalls, [&](Rank& rank) {
    const auto& [r, size, device, group] = rank;
    const auto combined = [&](const std::vector<int64_t>& counts) {
      const Moments mine(counts, r, r + 1);
      return distributed::sync_statistics()(
          {on(device, mine.mean, {kChannels}), on(device, mine.var, {kChannels}),
           on(device, {mine.count}, {1})},
          *group, kLabel);
    };
    const BatchStatistics one = combined(full), other = combined(rest);
    first[r] = values(one.mean);
    second[r] = values(other.mean);
  });
  for (int r = 0; r < 2; ++r) {
    exam.close(fmt::format("rank {}: mean of the same layer's next batch", r),
               Moments(rest, 0, 2).mean, second[r], kTolerance,
               {"counts differ from batch to batch, as in the last one of an epoch: "
                "send them each time",
                kSums});
    exam.close(fmt::format("rank {}: mean of a batch, after the next call", r),
               Moments(full, 0, 2).mean, first[r], kTolerance,
               {"a later call overwrote it: backward still needs what forward "
                "returned, so return new tensors, not a buffer that is used again",
                kBack});
  }
}

LESSON_TEST(8, backward_sums,
            "in backward, every rank receives the sums over all ranks") {
  constexpr int kRanks = 3;
  const auto mine = [](int rank, double sign) {
    Numbers numbers;
    for (int64_t c = 0; c < kChannels; ++c) {
      numbers.push_back(sign * element(rank, c, 5));
    }
    return numbers;
  };
  Numbers expected(2 * kChannels);
  for (int r = 0; r < kRanks; ++r) {
    for (int64_t c = 0; c < kChannels; ++c) {
      expected[c] += mine(r, 1)[c];
      expected[kChannels + c] += mine(r, -2)[c];
    }
  }
  std::vector<Numbers> got(kRanks);
  on_ranks(kRanks, kSameCalls, kOtherCalls, [&](Rank& rank) {
    const auto& [r, size, device, group] = rank;
    const BackwardSums sums = distributed::sync_backward_sums()(
        {on(device, mine(r, 1), {kChannels}), on(device, mine(r, -2), {kChannels})},
        *group, kLabel);
    got[r] = values(sums.dy);
    const Numbers second = values(sums.dy_xmu);
    got[r].insert(got[r].end(), second.begin(), second.end());
  });
  Numbers swapped = expected;
  std::ranges::rotate(swapped, swapped.begin() + kChannels);
  for (int r = 0; r < kRanks; ++r) {
    exam.close(
        fmt::format("rank {}: Σdy, then Σdy·(x − mean)", r), expected, got[r],
        kTolerance,
        {near(got[r], swapped) ? "these are the right sums in the wrong order: Σdy is "
                                 "the first result, Σdy·(x − mean) the second"
                               : "a rank's x affects the mean and the variance on all "
                                 "ranks, so its gradient "
                                 "depends on every rank's dy: sums over all ranks, not "
                                 "divided by anything",
         kBack});
  }
}

/// A batch norm's results for the rows of one device or rank.
struct Normalised {
  Numbers y, dx, mean, var;

  Normalised(Device device, int64_t first, int64_t rows, const GroupPtr& group) {
    const Shape sizes{rows, kChannels, 2, 1};
    Numbers x, dy;
    for (int64_t i = first; i < first + rows; ++i) {
      for (int64_t j = 0; j < 2 * kChannels; ++j) {
        x.push_back(element(static_cast<int>(i), j / 2, j % 2));
        dy.push_back(element(static_cast<int>(i % 3), j % 2, 2 * i + j));
      }
    }
    const auto channels = [&](double value) {
      return on(device, Numbers(kChannels, value), {kChannels});
    };
    const ops::BatchNormState state{
        channels(1.5), channels(0.25), channels(0), channels(1),
        ops::copy_to(Tensor::scalar(0, DType::i64), device, {"h2d", "test"})};
    const Tensor input = on(device, x, sizes).set_requires_grad(true);
    const Tensor output = group
                              ? distributed::sync_batch_norm(input, state, group, "bn")
                              : ops::batch_norm(input, state, true);
    autograd::backward(output, on(device, dy, sizes));
    y = values(output);
    dx = values(input.grad());
    mean = values(state.running_mean);
    var = values(state.running_var);
  }
};

LESSON_TEST(8, as_one_device,
            "ranks with 3 and 1 images compute the same as one device") {
  const Normalised one({DeviceType::reference, 0}, 0, 4, nullptr);
  std::vector<std::optional<Normalised>> ranks(2);
  on_ranks(2, kSameCalls, kOtherCalls, [&](Rank& rank) {
    const bool first = rank.rank == 0;
    ranks[rank.rank].emplace(rank.device, first ? 0 : 3, first ? 3 : 1, rank.group);
  });
  for (int r = 0; r < 2; ++r) {
    const auto rows = [r](const Numbers& all) {
      const auto middle = all.begin() + static_cast<int64_t>(all.size()) * 3 / 4;
      return r == 0 ? Numbers(all.begin(), middle) : Numbers(middle, all.end());
    };
    const std::tuple<const char*, Numbers, Numbers> results[] = {
        {"y", rows(one.y), ranks[r]->y},
        {"running mean", one.mean, ranks[r]->mean},
        {"running variance", one.var, ranks[r]->var},
        {"gradient of x", rows(one.dx), ranks[r]->dx}};
    for (const auto& [what, expected, got] : results) {
      exam.close(fmt::format("rank {}: {}", r, what), expected, got, 1e-10,
                 {"mean and variance are right, so look at `count`: it must be the "
                  "count over all ranks; the engine divides by it in backward and uses "
                  "it to make the running variance unbiased",
                  "Whose statistics survive"});
    }
  }
}

/// Throws Wrong unless rank 0's collectives are labelled and carry exactly the required
/// bytes, and the host waits for none of them.
void expect_lean(const Exam& exam, const tracer::Trace& trace) {
  const Events waits = host_waits_in(trace, {"sync_statistics", "sync_backward_sums"});
  exam.equal("times that the host waits for a device in your functions", size_t{0},
             waits.size(),
             {"item(), synchronize() and barrier() stop the host in every layer: "
              "Work::wait() makes the device wait, and the host goes on",
              "Waiting", waits.empty() ? tracer::kNone : waits[0]->id});
  int64_t labelled = 0, bytes = 0, expected = 0;
  for (const tracer::Event* collective : events_of(trace, "collective")) {
    if (collective->pid / 100 != 0) continue;
    if (text(*collective, tracer::keys::why) != "sync_batch_norm") continue;
    ++labelled;
    bytes += number(*collective, "bytes");
  }
  for (const tracer::Json& tensor : trace.lockstep["model"]["tensors"]) {
    const std::string name = tensor["name"];
    if (!name.ends_with("running_mean")) continue;
    const int64_t channels = tensor["shape"][0];
    expected += 4 * (2 * channels + 1) + 4 * 2 * channels;  // forward, backward
  }
  exam.equal("collectives of rank 0 with your label in a step", 2 * kLayers, labelled,
             {"pass `label` to each collective: without it, nobody who reads the trace "
              "knows whose message it is",
              "One message"});
  exam.equal("bytes of these collectives", expected, bytes,
             {"a layer of C channels sends 2C + 1 numbers in forward and 2C in "
              "backward: as many as it has, not as many as the largest layer",
              "One message"});
}

LESSON_TEST(8, one_message, "each layer costs one all-reduce in each direction") {
  const tracer::Trace& trace = exam.train(
      kTraining, {"ResNet18 trains with your functions; its output is printed below",
                  "What the trace shows"});
  int64_t sent = 0, last = -1;
  for (const tracer::Event* copy : copies_because(trace, "sync_batch_norm")) {
    if (number(*copy, "src") != 0) continue;
    ++sent;
    last = copy->id;
  }
  exam.at_most("messages sent by rank 0 of 3 per layer and step", int64_t{8},
               (sent + kLayers - 1) / kLayers,
               {"an all-reduce among 3 ranks costs each of them 4 messages, however "
                "few values it carries: pack everything into one tensor (ops::cat), in "
                "forward and in backward",
                "One message", last});
  expect_lean(exam, trace);
}

}  // namespace lockstep::lessons::lesson_08
