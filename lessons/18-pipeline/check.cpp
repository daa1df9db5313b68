#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <set>

#include "engine/nn/layers.h"
#include "engine/ops/copy.h"
#include "engine/ops/ops.h"
#include "engine/parallel/pipeline_model.h"
#include "engine/plan/pipeline.h"
#include "engine/plan/pipeline_times.h"
#include "engine/runtime/device_context.h"
#include "engine/train/pipeline_loss.h"
#include "lessons/machine/exam.h"
#include "lessons/machine/pipeline_orders.h"
#include "lessons/machine/predicates.h"

namespace lockstep::lessons::lesson_18 {

using Numbers = std::vector<double>;

constexpr const char *kGpipe = "lesson_gpipe", *k1f1b = "lesson_one_f_one_b",
                     *kEager = "lesson_eager";

PipelineSchedule written(const Exam& exam, const char* which, int ranks, int parts) {
  PipelineSchedule schedule(ranks);
  auto* order = exam.function<void(int, int, int, Order&)>(which);
  for (int rank = 0; rank < ranks; ++rank) order(rank, ranks, parts, schedule[rank]);
  return schedule;
}

/// Numbers of ranks and micro-batches: the chapter's, one micro-batch per rank, hardly
/// more, and three that nobody knows beforehand.
std::vector<std::pair<int, int>> sizes(const Exam& exam) {
  std::vector<std::pair<int, int>> all{{4, 8}, {3, 3}, {4, 5}};
  std::mt19937_64 random(exam.seed());
  for (int i = 0; i < 3; ++i) {
    const int ranks = 2 + static_cast<int>(random() % 5);
    all.emplace_back(ranks, ranks + static_cast<int>(random() % 7));
  }
  return all;
}

std::string named(const Exam& exam, int ranks, int parts) {
  return fmt::format("{} ranks, {} micro-batches (seed {})", ranks, parts, exam.seed());
}

/// Throws Wrong unless every rank runs every pass once, at its own stage.
void expect_complete(const Exam& exam, const PipelineSchedule& schedule, int parts,
                     const std::string& where) {
  for (size_t rank = 0; rank < schedule.size(); ++rank) {
    std::multiset<std::string> passes;
    for (const auto& action : schedule[rank]) passes.insert(to_text(action));
    for (int m = 0; m < parts; ++m) {
      for (const char op : {'F', 'B'}) {
        const std::string pass = fmt::format("{}{}{}", rank, op, m);
        exam.equal(fmt::format("rank {} runs {}, {}", rank, pass, where), size_t{1},
                   passes.count(pass),
                   {"each micro-batch goes forward once and back once on every rank; "
                    "micro-batches count from 0, and the stage of rank r is r",
                    "A schedule is data"});
      }
    }
    for (const auto& action : schedule[rank]) {
      exam.that(
          action.stage == static_cast<int>(rank) && action.micro_batch < parts,
          fmt::format("what else rank {} runs, {}", rank, where), "nothing",
          to_text(action),
          {fmt::format("there is nothing else to run: rank {} has stage {}, and the "
                       "last micro-batch is number {}",
                       rank, rank, parts - 1),
           "A schedule is data"});
    }
  }
}

/// Throws Wrong if the ranks would wait for each other.
void expect_runs(const Exam& exam, const PipelineSchedule& schedule, int parts,
                 const std::string& where) {
  expect_complete(exam, schedule, parts, where);
  const std::string rule = plan::broken_rule(schedule, parts);
  exam.that(rule.empty(), "the schedule, " + where, "it can run",
            rule.substr(0, rule.find('\n')),
            {goes_back_first(schedule)
                 ? "a rank's backward pass needs its own forward pass of the same "
                   "micro-batch: even the last rank begins with a forward pass"
                 : "a rank waits for its neighbours: forward for the one before it, "
                   "backward for the one after it. Draw who waits for whom",
             "A schedule is data"});
}

double duration(const PipelineSchedule& schedule, double latency = 0,
                double forward = 1, double backward = 2) {
  const size_t ranks = schedule.size();
  const auto times =
      plan::pipeline_times(schedule, {.forward = Numbers(ranks, forward),
                                      .backward = Numbers(ranks, backward),
                                      .latency = latency});
  return times ? plan::makespan(*times) : INFINITY;
}

LESSON_TEST(18, all_forward_first,
            "GPipe: all forward passes, then all backward passes") {
  for (const auto& [ranks, parts] : sizes(exam)) {
    const std::string where = named(exam, ranks, parts);
    const PipelineSchedule got = written(exam, kGpipe, ranks, parts);
    expect_complete(exam, got, parts, where);
    for (int rank = 0; rank < ranks; ++rank) {
      Order expected;
      for (const auto op : {plan::PipelineOp::forward, plan::PipelineOp::backward}) {
        for (int m = 0; m < parts; ++m) expected.push_back({rank, op, m});
      }
      const bool turns = std::ranges::is_sorted(got[rank], {}, [](const auto& action) {
        return action.op == plan::PipelineOp::backward;
      });
      exam.equal(
          fmt::format("order of rank {}, {}", rank, where), text_of(expected),
          text_of(got[rank]),
          {turns ? "PyTorch's GPipe goes back in the order in which it went forward: "
                   "the first micro-batch has waited longest"
                 : "the first backward pass comes after the last forward pass",
           "GPipe"});
    }
  }
}

LESSON_TEST(18, can_run, "1F1B: no rank waits for a rank that waits for it") {
  for (const auto& [ranks, parts] : sizes(exam)) {
    expect_runs(exam, written(exam, k1f1b, ranks, parts), parts,
                named(exam, ranks, parts));
  }
}

LESSON_TEST(18, few_live, "1F1B: at most P - rank micro-batches are live") {
  for (const auto& [ranks, parts] : sizes(exam)) {
    const PipelineSchedule got = written(exam, k1f1b, ranks, parts);
    for (int rank = 0; rank < ranks; ++rank) {
      exam.at_most(
          fmt::format("micro-batches that rank {} keeps at once, {}", rank,
                      named(exam, ranks, parts)),
          ranks - rank, plan::live_micro_batches(got[rank]),
          {"a forward pass too many before the first backward pass, or before its "
           "turn: "
           "after ranks - rank of them, a backward pass comes first, which makes room",
           "1F1B"});
    }
  }
}

LESSON_TEST(18, as_fast, "1F1B: the step takes as long as GPipe's") {
  for (const auto& [ranks, parts] : sizes(exam)) {
    const PipelineSchedule mine = written(exam, k1f1b, ranks, parts);
    const double got = duration(mine);
    exam.at_most(fmt::format("length of a step, forward 1 and backward 2, {}",
                             named(exam, ranks, parts)),
                 3.0 * (parts + ranks - 1), got, {why_slow(mine), "1F1B"});
  }
}

LESSON_TEST(18, the_order, "1F1B: PyTorch's order") {
  for (const auto& [ranks, parts] : sizes(exam)) {
    const PipelineSchedule got = written(exam, k1f1b, ranks, parts);
    for (int rank = 0; rank < ranks; ++rank) {
      exam.equal(
          fmt::format("order of rank {}, {}", rank, named(exam, ranks, parts)),
          text_of(alternating(rank, ranks - rank, parts)), text_of(got[rank]),
          {"micro-batches go back in the order in which they went forward, and a "
           "backward pass comes as soon as it can",
           "1F1B"});
    }
  }
}

// --- with the real engine

nn::ModulePtr layers() {
  nn::Construction construction;
  construction.dtype = DType::f64;
  construction.seed = 3;
  const nn::ConstructionScope scope(construction);
  return std::make_shared<nn::Sequential>(std::vector<nn::ModulePtr>{
      std::make_shared<nn::Linear>(64, 64), std::make_shared<nn::Linear>(64, 64),
      std::make_shared<nn::Linear>(64, 64), std::make_shared<nn::Linear>(64, 2)});
}

Tensor pictures(Device device, int64_t rows) {
  Numbers numbers(64 * rows);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = std::sin(double(i));
  return ops::copy_to(Tensor::from(numbers, {rows, 64}, DType::f64), device,
                      {"h2d", "images"});
}

Tensor classes(Device device, int64_t rows) {
  Numbers numbers(rows);
  for (int64_t i = 0; i < rows; ++i) numbers[i] = double(i % 2);
  return ops::copy_to(Tensor::from(numbers, {rows}, DType::i64), device,
                      {"h2d", "labels"});
}

constexpr int64_t kRows = 16;

/// Returns the gradients after a step of four stages with this schedule.
Numbers gradients(const PipelineSchedule& schedule) {
  const nn::ModulePtr net = layers();
  parallel::Devices devices;
  for (int i = 0; i < 4; ++i) devices.push_back({DeviceType::reference, i});
  parallel::PipelineModel model(net, devices, {{"1", "2", "3"}, schedule, "custom"});
  train::PipelineLoss loss(classes(model.output_device(), kRows), {});
  model.run(pictures(model.input_device(), kRows), std::ref(loss));
  Numbers all;
  for (const Tensor& parameter : net->parameters()) {
    const Numbers own = values(parameter.grad());
    all.insert(all.end(), own.begin(), own.end());
  }
  return all;
}

Numbers alone() {
  const Device device{DeviceType::reference, 0};
  const nn::ModulePtr net = layers();
  net->to(device);
  ops::cross_entropy((*net)(pictures(device, kRows)), classes(device, kRows))
      .backward();
  Numbers all;
  for (const Tensor& parameter : net->parameters()) {
    const Numbers own = values(parameter.grad());
    all.insert(all.end(), own.begin(), own.end());
  }
  return all;
}

LESSON_TEST(18, trains, "the engine runs your schedule: the gradients are a batch's") {
  const PipelineSchedule mine = written(exam, k1f1b, 4, 8);
  Numbers got;
  const tracer::Trace trace = recorded(4, [&] { got = gradients(mine); });
  exam.close(
      "gradients of all parameters, compared with one device's", alone(), got, 1e-10,
      {"every micro-batch takes part once, in any order", "What the trace shows"});
  std::vector<Order> ran(4);
  for (const tracer::Event& event : trace.events) {
    if (!event.is("phase") || !event.args.contains("action")) continue;
    const auto action = plan::parse_action(text(event, "action"));
    if (action) ran[action->stage].push_back(*action);
  }
  for (size_t rank = 0; rank < ran.size(); ++rank) {
    exam.equal(fmt::format("actions of rank {} in the trace", rank),
               text_of(mine[rank]), text_of(ran[rank]),
               {"the trace's actions are your schedule's", "What the trace shows"});
  }
}

/// Returns the peak of activations on device 0, in bytes, when ResNet18 trains with the
/// learner's schedule of this name.
int64_t activations(Exam& exam, const std::string& name) {
  const tracer::Trace& trace = exam.train(
      "-a resnet18 --dataset generated --device-type null --mode model-parallel "
      "--split layer2,layer3,layer4 --devices 4 -b 8 --micro-batches 8 --steps 1 "
      "--pipeline-schedule " +
          name,
      {"the engine asks each rank's order of your functions; the run's output is "
       "printed below",
       "A schedule is data"});
  int64_t most = 0;
  for (const tracer::Event& event : trace.events) {
    const bool of_device_0 = event.ph == 'C' && event.pid == 1;
    if (of_device_0) most = std::max(most, number(event, "activations", 0));
  }
  return most;
}

LESSON_TEST(18, less_memory, "ResNet18 with 1F1B: half of GPipe's activations") {
  const int64_t all = activations(exam, "gpipe"), few = activations(exam, "1f1b");
  exam.at_most(
      "activations of ResNet18 on device 0, in per cent of GPipe's", int64_t{55},
      100 * few / std::max<int64_t>(all, 1),
      {"four live micro-batches instead of eight need half of the memory", "1F1B"});
}

// --- links

LESSON_TEST(18, eager_live, "eager: at most 2 (P - rank) - 1 micro-batches are live") {
  for (const auto& [ranks, parts] : sizes(exam)) {
    const PipelineSchedule got = written(exam, kEager, ranks, parts);
    expect_runs(exam, got, parts, named(exam, ranks, parts));
    for (int rank = 0; rank < ranks; ++rank) {
      exam.at_most(fmt::format("micro-batches that rank {} keeps at once, {}", rank,
                               named(exam, ranks, parts)),
                   2 * (ranks - rank) - 1, plan::live_micro_batches(got[rank]),
                   {"2 (ranks - rank) - 1 forward passes come first, no more",
                    "The price of a link"});
    }
  }
}

LESSON_TEST(18, price_of_a_link, "eager: links cost no more than in GPipe") {
  const PipelineSchedule mine = written(exam, kEager, 4, 8);
  bool few = false;
  for (int rank = 0; rank < 4; ++rank) {
    few |= first_passes(mine[rank]) < 2 * (4 - rank) - 1;
  }
  for (const double latency : {0.1, 0.25, 1.0}) {
    const double limit = duration(written(exam, kGpipe, 4, 8), latency);
    const double got = duration(mine, latency);
    exam.that(got <= limit + 1e-9,
              fmt::format("length of a step of 4 ranks and 8 micro-batches, when a "
                          "message takes {}",
                          latency),
              fmt::format("at most {:.1f}, as GPipe", limit),
              fmt::format("{:.1f}", got),
              {few ? "with fewer than 2 (ranks - rank) - 1 forward passes first, each "
                     "micro-batch waits for the way there and back; more of them fill "
                     "that time"
                   : "after the first forward passes, backward and forward passes take "
                     "turns, each from the first micro-batch to the last, as in 1F1B",
               "The price of a link"});
  }
}

LESSON_TEST(18, eager_order,
            "eager: as many forward passes first as there is room for") {
  for (const auto& [ranks, parts] : sizes(exam)) {
    const PipelineSchedule got = written(exam, kEager, ranks, parts);
    for (int rank = 0; rank < ranks; ++rank) {
      const int room = 2 * (ranks - rank) - 1, first = std::min(room, parts);
      exam.equal(
          fmt::format("forward passes that come first on rank {}, {}", rank,
                      named(exam, ranks, parts)),
          first, first_passes(got[rank]),
          {room > parts
               ? "there is room for more than there are: all forward passes come first"
               : "2 (ranks - rank) - 1 forward passes come first",
           "The price of a link"});
      exam.equal(fmt::format("order of rank {}, {}", rank, named(exam, ranks, parts)),
                 text_of(alternating(rank, first, parts)), text_of(got[rank]),
                 {"after the first forward passes, eager 1F1B goes on as 1F1B does",
                  "The price of a link"});
    }
  }
}

}  // namespace lockstep::lessons::lesson_18
