#include <atomic>
#include <cmath>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>

#include "engine/nn/layers.h"
#include "engine/ops/copy.h"
#include "engine/ops/ops.h"
#include "engine/optim/sgd.h"
#include "engine/runtime/device_context.h"
#include "lessons/machine/exam.h"
#include "lessons/machine/micro_batches.h"
#include "lessons/machine/predicates.h"
#include "lessons/machine/ranks.h"

namespace lockstep::lessons::lesson_17 {

LESSON_TEST(17, averages, "without no_sync, backward averages") {
  const Numbers got = gradients(exam, [](const Model& model, const Rank& rank) {
    model(input(rank, 0)).backward();
  });
  exam.close("gradients of the two ranks, whose own are 1 and 3", {2, 2}, got, 1e-12,
             {"after a backward pass that averages, every rank has the mean: `average` "
              "is called once, when the pass is over",
              "Who decides"});
}

LESSON_TEST(17, alone, "inside no_sync, it does not") {
  const Numbers got = gradients(exam, [](const Model& model, const Rank& rank) {
    const Model::Alone alone(model);
    model(input(rank, 0)).backward();
  });
  exam.close("gradients of the two ranks, whose own are 1 and 3", {1, 3}, got, 1e-12,
             {"a forward pass inside no_sync begins a backward pass that does not "
              "average: every rank keeps its own gradient",
              "Who decides"});
}

LESSON_TEST(17, decided_by_forward, "it is decided by the forward pass") {
  const Because because{
      "the forward pass decides: a backward pass averages if its forward pass was "
      "outside of no_sync, wherever backward is called",
      "Decided on the way in"};
  Numbers got = gradients(exam, [](const Model& model, const Rank& rank) {
    Tensor output;
    {
      const Model::Alone alone(model);
      output = model(input(rank, 0));
    }
    output.backward();  // outside
  });
  exam.close("forward inside no_sync, backward outside: the ranks' own gradients",
             {1, 3}, got, 1e-12, because);
  got = gradients(exam, [](const Model& model, const Rank& rank) {
    const Tensor output = model(input(rank, 0));
    const Model::Alone alone(model);
    output.backward();  // inside
  });
  exam.close("forward outside of no_sync, backward inside: the mean", {2, 2}, got,
             1e-12, because);
}

LESSON_TEST(17, restores, "no_sync leaves everything as it was") {
  const Because because{
      "the guard's end restores what was there at its beginning. Inside another "
      "no_sync, that is `false`",
      "A guard restores"};
  Numbers got = gradients(exam, [](const Model& model, const Rank& rank) {
    const Model::Alone outer(model);
    {
      const Model::Alone inner(model);
    }
    model(input(rank, 0)).backward();
  });
  exam.close("after an inner no_sync, still inside an outer one", {1, 3}, got, 1e-12,
             because);
  got = gradients(exam, [](const Model& model, const Rank& rank) {
    const Model::Alone outer(model);
    const Model::Alone inner(model);
    model(input(rank, 0)).backward();
  });
  exam.close("inside two of them", {1, 3}, got, 1e-12, because);
  got = gradients(exam, [](const Model& model, const Rank& rank) {
    {
      const Model::Alone alone(model);
    }
    model(input(rank, 0)).backward();
  });
  exam.close("after no_sync", {2, 2}, got, 1e-12, because);
}

LESSON_TEST(17, exceptions, "no_sync ends when an exception leaves its block") {
  const Numbers got = gradients(exam, [](const Model& model, const Rank& rank) {
    try {
      const Model::Alone alone(model);
      throw std::range_error("a batch that cannot be read");
    } catch (const std::range_error&) {
    }
    model(input(rank, 0)).backward();
  });
  exam.close("after a no_sync that an exception has left", {2, 2}, got, 1e-12,
             {"the guard restores in any case: that is what a destructor is for, and "
              "Python's `finally`",
              "A guard restores"});
}

LESSON_TEST(17, hooks, "the model is called as a module, once") {
  std::atomic<int> calls{0};
  gradients(exam, [&](const Model& model, const Rank& rank) {
    model.net()->register_forward_hook(
        [&](nn::Module&, const Tensor&, const Tensor&) -> Tensor {
          ++calls;
          return {};
        });
    model(input(rank, 0)).backward();
  });
  exam.equal("calls of a hook of the model, on two ranks", 2, calls.load(),
             {"the model is called as a module, once: its `forward` alone leaves out "
              "its hooks",
              "Who decides"});
}

LESSON_TEST(17, two_passes, "two forward passes, then their two backward passes") {
  const Numbers got = gradients(exam, [](const Model& model, const Rank& rank) {
    const Tensor first = model(input(rank, 0)), second = model(input(rank, 1));
    first.backward();
    second.backward();
  });
  // After the first: the mean of 1 and 3, which is 2. Then 2 + 3 and 2 + 4.
  exam.close("the mean of 1 and 3, to which 3 and 4 are added, averaged", {5.5, 5.5},
             got, 1e-12,
             {"only a forward pass changes `averages_`: both of these were outside of "
              "no_sync, so both backward passes average",
              "Decided on the way in"});
}

LESSON_TEST(17, silent_again, "no_sync works after passes that have averaged") {
  const Numbers got = gradients(exam, [](const Model& model, const Rank& rank) {
    model(input(rank, 0)).backward();
    const Model::Alone alone(model);
    model(input(rank, 1)).backward();
  });
  exam.close("the mean of 1 and 3, to which 3 and 4 are added", {5, 6}, got, 1e-12,
             {"every forward pass decides: `averages_` is what `sync` is now, "
              "whatever it was before",
              "Decided on the way in"});
}

LESSON_TEST(17, sum_is_averaged, "the last pass averages the sum of all") {
  const Numbers got = gradients(exam, [](const Model& model, const Rank& rank) {
    {
      const Model::Alone alone(model);
      model(input(rank, 0)).backward();
    }
    model(input(rank, 1)).backward();
  });
  exam.close("1 + 3 on rank 0 and 3 + 4 on rank 1: the mean of 4 and 7", {5.5, 5.5},
             got, 1e-12,
             {"`.grad` holds the sum of all passes when the last one ends; that sum is "
              "what is averaged",
              "The sum travels"});
}

/// Returns how often rank 0 all-reduces a gradient during `work`.
size_t all_reduces(const std::function<void()>& work) {
  const tracer::Trace trace = recorded(2, work);
  size_t calls = 0;
  for (const tracer::Event* event : events_of(trace, "collective")) {
    const bool gradient = event->args.contains("params");
    if (gradient && number(*event, "rank") == 0) ++calls;
  }
  return calls;
}

// --- train_step

LESSON_TEST(17, one_step, "the optimizer steps once, after the last micro-batch") {
  const std::vector<AtCall> calls = calls_in_a_step(exam);
  for (size_t i = 1; i < calls.size(); ++i) {
    exam.close(
        fmt::format("weights when call {} of the model begins", i), calls[0].weights,
        calls[i].weights, 0,
        {"optimizer.step() is called once, after the loop: all micro-batches see "
         "the same weights, as the rows of one batch do",
         "The sum travels"});
  }
}

LESSON_TEST(17, same_on_all_ranks, "after a step, all ranks have the same weights") {
  const std::vector<Numbers> got = trained(exam, 1);
  exam.close(
      "weights of rank 1, compared with rank 0's", got[0], got[1], 1e-12,
      {"the ranks drift apart: the pass that averages must be the last one, when "
       "`.grad` holds all micro-batches",
       "The sum travels"});
}

LESSON_TEST(17, one_batch, "four micro-batches train as one batch does") {
  const auto share = [](int64_t rows) { return static_cast<double>(rows) / 10; };
  const Numbers start = all_values(in_double(classifier)->parameters());
  const Numbers first = trained(exam, 1)[0];
  const std::string likely = why_not(first, start);
  exam.close("weights after a step of 3, 3, 3 and 1 rows on each of 2 ranks",
             trained_alone(1, share), first, 1e-10, {likely, "Whose mean?"});
  exam.close("weights after three steps", trained_alone(3, share), trained(exam, 3)[0],
             1e-10,
             {"gradients of the step before are still there: clear them at the "
              "beginning of each step",
              "Whose mean?"});
}

LESSON_TEST(17, one_at_a_time, "each micro-batch is forward, then backward") {
  const std::vector<AtCall> calls = calls_in_a_step(exam);
  exam.equal(
      "calls of the model in a step of 4 micro-batches", size_t{4}, calls.size(),
      {"one forward pass for each micro-batch, and none more", "The sum travels"});
  exam.that(calls[1].gradients, "gradients when the second micro-batch is computed",
            "those of the first", "none",
            {"backward follows its forward pass at once: it frees the activations, for "
             "whose sake the batch has been divided",
             "The sum travels"});
}

LESSON_TEST(17, inside_another, "a step inside of somebody's no_sync") {
  const size_t calls = all_reduces([&] {
    on_ranks(2, kTogether, kHangs, [&](Rank& rank) {
      const Model model(exam, rank, in_double(classifier));
      optim::Sgd sgd = sgd_of(model.net(), 0.5);
      const Model::Alone alone(model);
      model.step(sgd, parts_of(rank, 0));
      model.step(sgd, parts_of(rank, 1));
      runtime::context(rank.device).synchronize();
    });
  });
  exam.equal("all-reduces in two steps inside of a no_sync", size_t{0}, calls,
             {"train_step uses the guard and leaves `sync` alone: a caller's no_sync "
              "holds for what it calls",
              "A guard restores"});
}

LESSON_TEST(17, once, "a backward pass averages each gradient once") {
  const size_t calls = all_reduces([&] {
    gradients(exam, [](const Model& model, const Rank& rank) {
      model(input(rank, 0)).backward();
    });
  });
  exam.equal(
      "all-reduces of 2 parameters' gradients in a backward pass", size_t{2}, calls,
      {"`average` treats all parameters, so it is queued once in a pass, not for "
       "each gradient: that is what `queued_` is for",
       "Who decides"});
}

LESSON_TEST(17, one_message, "gradients travel once per step") {
  const size_t calls = all_reduces([&] { trained(exam, 1); });
  exam.at_most(
      "all-reduces of 4 parameters' gradients on rank 0, in one step of 4 "
      "micro-batches",
      size_t{4}, calls,
      {"all but the last pass can be silent. What matters is that the forward pass "
       "is "
       "inside no_sync",
       "Decided on the way in"});
}

}  // namespace lockstep::lessons::lesson_17
