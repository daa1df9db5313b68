#include <cmath>
#include <numeric>
#include <random>
#include <set>
#include <stdexcept>

#include "engine/nn/layers.h"
#include "engine/ops/copy.h"
#include "engine/ops/ops.h"
#include "engine/parallel/model_and_criterion.h"
#include "engine/plan/chunk.h"
#include "lessons/machine/chunk_losses.h"
#include "lessons/machine/exam.h"
#include "lessons/machine/predicates.h"
#include "lessons/plugin.h"

namespace lockstep::lessons::lesson_25 {

// --- reduce

/// Returns a leaf that requires a gradient on each device.
Tensors scalars_on(const std::vector<int>& devices, const Numbers& numbers) {
  Tensors scalars;
  for (size_t i = 0; i < devices.size(); ++i) {
    scalars.push_back(
        on(reference(devices[i]), Tensor::from({numbers[i]}, {}, DType::f64)));
    scalars.back().set_requires_grad(true);
  }
  return scalars;
}

/// Device numbers of losses: in order, in another order, and a single one.
const std::vector<std::vector<int>>& orders() {
  static const std::vector<std::vector<int>> all{{0, 1, 2}, {2, 0, 3, 1}, {1}};
  return all;
}

std::string listed(const std::vector<int>& devices) {
  return fmt::format("losses on the devices {}", fmt::join(devices, ", "));
}

Tensor reduced(const Exam& exam, const Tensors& losses) {
  Tensor sum;
  exam.function<void(const Tensors&, Tensor&)>("lesson_reduce")(losses, sum);
  return sum;
}

LESSON_TEST(25, the_sum, "reduce adds the losses, on the device of the first") {
  std::mt19937_64 random(exam.seed());
  for (const std::vector<int>& devices : orders()) {
    const Numbers numbers = random_numbers(random, devices.size());
    const Tensors losses = scalars_on(devices, numbers);
    const Tensor sum = reduced(exam, losses);
    exam.equal(
        "device of the sum of " + listed(devices), losses[0].device().str(),
        sum.device().str(),
        {"the loss is where the first output is, which need not be device 0", kSum});
    const double total = std::accumulate(numbers.begin(), numbers.end(), 0.0);
    const double got = values(sum)[0];
    const bool mean = std::abs(got * double(numbers.size()) - total) < kRounding;
    exam.close("sum of " + listed(devices), {total}, {got}, kRounding,
               {mean ? "this is the mean: `criterion` divides, `reduce` adds"
                     : "each loss is added once, the last one as well",
                kSum});
    Numbers after;
    for (const Tensor& loss : losses) after.push_back(values(loss)[0]);
    exam.close("the losses after reduce, " + listed(devices), numbers, after, 0,
               {"a detached tensor shares its memory with the loss: add into a new one",
                kSum});
  }
}

LESSON_TEST(25, the_way_back, "the gradient of the sum is that of each loss") {
  std::mt19937_64 random(exam.seed());
  for (const std::vector<int>& devices : orders()) {
    const Tensors losses = scalars_on(devices, random_numbers(random, devices.size()));
    const double factor = random_numbers(random, 1)[0];
    const Tensor loss = ops::scale(reduced(exam, losses), factor);
    exam.that(loss.requires_grad(), "the sum of " + listed(devices),
              "it is on the tape", "it is not: no gradient gets back",
              {"copies and detached tensors are not on the tape: `set_history` says "
               "how gradients get back",
               kSum});
    loss.backward();
    for (size_t i = 0; i < losses.size(); ++i) {
      const Tensor grad = losses[i].grad();
      const std::string which = fmt::format("of loss {} of {}", i, listed(devices));
      exam.that(grad.defined(), "gradient " + which, fmt::format("{}", factor), "none",
                {"the tape ends at the copy of this loss: without a node of yours, "
                 "only what was never sent has a gradient",
                 kSum});
      exam.equal("device of the gradient " + which, losses[i].device().str(),
                 grad.device().str(),
                 {"backward runs on the loss's device, and its gradient has to be "
                  "sent there",
                  kSum});
      exam.close("gradient " + which, {factor}, values(grad), kRounding,
                 {"the derivative of a sum by each of its terms is 1: each gets the "
                  "whole gradient, and nobody a share of it",
                  kSum});
    }
  }
}

LESSON_TEST(25, only_scalars, "a scalar comes from each other device, and one goes") {
  for (const std::vector<int>& devices : orders()) {
    const Tensors losses = scalars_on(devices, Numbers(devices.size(), 1));
    const tracer::Trace trace = recorded(4, [&] { reduced(exam, losses).backward(); });
    std::multiset<std::string> expected, got;
    for (size_t i = 1; i < devices.size(); ++i) {
      expected.insert(fmt::format("loss {} to {}", devices[i], devices[0]));
      expected.insert(fmt::format("loss_grad {} to {}", devices[0], devices[i]));
    }
    for (const tracer::Event* copy : events_of(trace, "copy")) {
      const bool read = text(*copy, "dst") == "host" || text(*copy, "src") == "host";
      exam.that(!read, "copies in reduce and its backward pass, " + listed(devices),
                "from device to device",
                fmt::format("{} {} the host", text(*copy, "why"),
                            text(*copy, "dst") == "host" ? "to" : "from"),
                {"a value that goes through the host makes it wait for the devices; "
                 "the copies here are only enqueued",
                 kBytes});
      got.insert(fmt::format("{} {} to {}", text(*copy, "why"), number(*copy, "src"),
                             number(*copy, "dst")));
    }
    exam.equal("copies in reduce and its backward pass, " + listed(devices), expected,
               got,
               {"all losses are sent to the first one's device at once. If each waits "
                "for the one after it, the last arrives through all devices",
                kBytes});
  }
}

// --- criterion

/// Returns `work`'s loss. What a device refuses is explained.
Tensor loss_of(const Exam& exam, const Sizes& sizes,
               const std::function<Tensor()>& work) {
  try {
    return work();
  } catch (const NotWritten&) {
    throw;
  } catch (const std::runtime_error& error) {
    throw Wrong{
        "the loss with " + named(exam, sizes),
        "each criterion is called with the output of its own chunk",
        error.what(),
        {"outputs stay where they are. Each criterion has its chunk's labels on "
         "that chunk's device, and computes the loss there",
         kBytes}};
  }
}

LESSON_TEST(25, mean_of_means, "criterion: the mean of the chunks' means") {
  std::mt19937_64 random(exam.seed());
  for (const Sizes& sizes : chunk_sizes(exam)) {
    const Chunks chunks(random, sizes);
    const Tensor loss = loss_of(exam, sizes, [&] {
      return parallel::chunk_criterion().in_use()(chunks.criteria, chunks.outputs);
    });
    Numbers factors;
    for (const int64_t size : sizes)
      factors.push_back(1.0 / double(size * sizes.size()));
    exam.equal("elements of the loss with " + named(exam, sizes), int64_t{1},
               loss.numel(),
               {"a criterion gets outputs, also if there is only one, and returns a "
                "scalar",
                kOne});
    const double got = values(loss)[0];
    exam.close("loss with " + named(exam, sizes), {chunks.weighted(factors)}, {got},
               kRounding, why_not_the_mean(chunks, got));
    exam.that(loss.requires_grad(), "the loss with " + named(exam, sizes),
              "it is on the tape", "it is not",
              {"a detached loss has no gradient: nothing would be learnt", kSum});
    loss.backward();
    expect_balanced(exam, chunks, "criterion, " + named(exam, sizes));
    for (size_t i = 0; i < sizes.size(); ++i) {
      Numbers expected = chunks.derivatives[i];
      for (double& each : expected) each *= factors[i];
      exam.close(fmt::format("gradient of output {}, {}", i, named(exam, sizes)),
                 expected, values(chunks.outputs[i].grad()), kRounding,
                 {"each loss's gradient is one over the number of chunks", kSum});
    }
  }
}

LESSON_TEST(25, balanced, "no output leaves its device") {
  std::mt19937_64 random(exam.seed());
  const Chunks chunks(random, {3, 3, 3, 1}, 1000, DType::f32);
  const tracer::Trace trace = recorded(4, [&] {
    parallel::chunk_criterion().in_use()(chunks.criteria, chunks.outputs).backward();
  });
  exam.at_most(
      "bytes between devices for a loss and its gradient, 10 images over 4 devices, "
      "1,000 classes",
      int64_t{24}, bytes_of(events_of(trace, "copy")),
      {"only scalars travel: a loss comes, and its gradient goes", kBytes});
  const auto& first = dynamic_cast<const Criterion&>(*chunks.criteria[0]);
  exam.at_most("images whose loss device 0 computes, of 10 over 4 devices", int64_t{3},
               first.images(), {"once for each image of its own chunk", kBytes});
}

// --- how much an image counts

LESSON_TEST(25, image_weight, "how much each image counts") {
  auto* const weight =
      exam.function<double(int64_t, int64_t, int64_t)>("lesson_weight");
  std::mt19937_64 random(exam.seed());
  std::vector<std::pair<int64_t, int64_t>> cases{{10, 4}, {8, 4}, {9, 4},  {5, 4},
                                                 {3, 8},  {7, 1}, {256, 3}};
  for (int i = 0; i < 6; ++i) {
    cases.emplace_back(1 + random() % 40, 1 + random() % 8);
  }
  for (const auto& [batch, devices] : cases) {
    const Sizes sizes = plan::chunk_sizes(batch, devices);
    for (int64_t image = 0; image < batch; ++image) {
      const int64_t own = sizes[image / sizes[0]];
      const double got = weight(image, batch, devices);
      exam.close(fmt::format("weight of image {} of {} on {} device{} (seed {})", image,
                             batch, devices, devices == 1 ? "" : "s", exam.seed()),
                 {1.0 / double(own * sizes.size())}, {got}, kRounding,
                 why_not_weight(batch, devices, image, got));
    }
  }
}

// --- the mean over all

LESSON_TEST(25, over_all, "whole_mean: each image counts the same") {
  auto* const whole_mean =
      exam.function<void(const Criteria&, const Tensors&, Tensor&)>(
          "lesson_whole_mean");
  std::mt19937_64 random(exam.seed());
  for (const Sizes& sizes : chunk_sizes(exam)) {
    const Chunks chunks(random, sizes);
    Tensor loss;
    const tracer::Trace trace = recorded(6, [&] {
      loss = loss_of(exam, sizes, [&] {
        Tensor made;
        whole_mean(chunks.criteria, chunks.outputs, made);
        return made;
      });
      const double got = values(loss)[0];
      const Numbers equal(sizes.size(), 1.0 / double(chunks.batch()));
      exam.close("whole_mean with " + named(exam, sizes), {chunks.weighted(equal)},
                 {got}, kRounding, why_not_whole(chunks, got));
      exam.that(loss.requires_grad(), "whole_mean with " + named(exam, sizes),
                "it is on the tape", "it is not",
                {"a detached loss has no gradient: nothing would be learnt", kSum});
      loss.backward();
    });
    expect_balanced(exam, chunks, "whole_mean, " + named(exam, sizes));
    for (size_t i = 0; i < sizes.size(); ++i) {
      Numbers expected = chunks.derivatives[i];
      for (double& each : expected) each /= double(chunks.batch());
      exam.close(
          fmt::format("gradient of output {} in whole_mean, {}", i, named(exam, sizes)),
          expected, values(chunks.outputs[i].grad()), kRounding,
          {"the factor belongs on the tape as well", kWhole});
    }
    for (const tracer::Event* copy : events_of(trace, "copy")) {
      if (text(*copy, "why") == "d2h") continue;  // the test reads the loss
      exam.at_most("bytes in one copy of whole_mean, " + named(exam, sizes), int64_t{8},
                   number(*copy, "bytes"), {"only scalars travel here, too", kBytes});
    }
  }
}

// --- both, in training

LESSON_TEST(25, trains, "DataParallelModel with your criterion: DDP's gradients") {
  nn::Construction construction;
  construction.dtype = DType::f64;
  construction.seed = 3;
  const nn::ConstructionScope scope(construction);
  std::mt19937_64 random(exam.seed());
  const auto [batch, devices] = std::pair<int64_t, int>{10, 4};
  const Tensor images =
      Tensor::from(random_numbers(random, batch * 5), {batch, 5}, DType::f64);
  const Tensor labels =
      Tensor::from({0, 1, 2, 0, 1, 2, 0, 1, 2, 0}, {batch}, DType::i64);
  const auto model = std::make_shared<nn::Linear>(5, 3);
  model->to(reference(0));
  // What ranks with these chunks would average.
  std::vector<Numbers> expected;
  int64_t first = 0;
  for (const int64_t rows : plan::chunk_sizes(batch, devices)) {
    ops::cross_entropy((*model)(on(reference(0), images.narrowed(first, rows))),
                       on(reference(0), labels.narrowed(first, rows)))
        .backward();
    first += rows;
  }
  for (const Tensor& parameter : model->parameters()) {
    expected.push_back(values(parameter.grad()));
    for (double& each : expected.back()) each /= devices;
    parameter.set_grad(Tensor());
  }
  parallel::DataParallelModel wrapper(
      model, {reference(0), reference(1), reference(2), reference(3)});
  const Tensors outputs = wrapper.outputs_of(images);
  const Tensors targets = parallel::scatter_targets(labels, wrapper.device_ids());
  parallel::DataParallelCriterion()(outputs, targets).backward();
  for (size_t i = 0; i < expected.size(); ++i) {
    exam.close(fmt::format("gradient of parameter {}, as with DDP on chunks of 3, 3, 3 "
                           "and 1",
                           i),
               expected[i], values(model->parameters()[i].grad()), kRounding,
               {"the mean of the chunks' means is DDP's loss, if its ranks have these "
                "chunks",
                kMean});
  }
}

LESSON_TEST(25, resnet, "ResNet18 on four devices: scalars instead of outputs") {
  const tracer::Trace& trace = exam.train(
      "-a resnet18 --dataset generated --device-type null --mode dp-criterion "
      "--devices 4 -b 10 -j 0 --steps 1 --trace-steps 0:1",
      {"four devices train ResNet18 with your functions; the run's output is printed "
       "below",
       "What the trace shows"});
  for (const char* why : {"loss", "loss_grad"}) {
    exam.equal(fmt::format("bytes of copies because of `{}` in a step", why),
               int64_t{12}, bytes_of(copies_because(trace, why)),
               {"4 bytes from or to each of three devices", kBytes});
  }
}

}  // namespace lockstep::lessons::lesson_25
