// Pipelines, constructed from one device's step: they obey every law, move what is at
// the cuts, and take the time of their schedule.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "engine/plan/pipeline_times.h"
#include "tracer/analysis/check.h"
#include "tracer/analysis/steps.h"
#include "tracer/emulate/construct/construct.h"
#include "tracer/emulate/construct/recorded_parts.h"
#include "tracer/emulate/emulate.h"
#include "tracer/emulate/hardware/hardware.h"
#include "tracer/format/facts.h"

namespace lockstep::tracer {
namespace {

using plan::PipelineOrder;

/// A training step of ResNet18 for CIFAR-10 on one device, with 8 images.
const Trace& one_of_pipeline() {
  static const Trace trace =
      read_trace(std::string(LOCKSTEP_SOURCE_DIR) + "/lessons/01-tape/trace.json.gz");
  return trace;
}

const std::vector<std::string> kFourStages{"layer2", "layer3", "layer4"};
const std::vector<std::string> kEightStages{"layer1",   "layer2", "layer2.1", "layer3",
                                            "layer3.1", "layer4", "layer4.1"};

struct NamedOrder {
  const char* name;
  PipelineOrder order;
};

ConstructedProgram pipeline_program(const std::vector<std::string>& cuts,
                                    const NamedOrder& order, int micro_batches,
                                    int stages_per_rank = 1) {
  ConstructedProgram program;
  program.mode = "model-parallel";
  const int stages = static_cast<int>(cuts.size()) + 1;
  program.pipeline = {cuts,
                      plan::pipeline_schedule(order.order, stages / stages_per_rank,
                                              micro_batches, stages_per_rank),
                      order.name};
  return program;
}

std::string laws_broken_by_pipeline(const Trace& trace) {
  std::string broken;
  for (const Finding& finding : check_trace(trace).findings) {
    if (!finding.ok) broken += finding.law + ": " + finding.message + "\n";
  }
  return broken;
}

TEST(ConstructPipeline, ObeysEveryLaw) {
  for (const auto& [order, micro_batches] :
       {std::pair{NamedOrder{"gpipe", PipelineOrder::gpipe}, 3},
        {NamedOrder{"1f1b", PipelineOrder::one_f_one_b}, 5},
        {NamedOrder{"1f1b-eager", PipelineOrder::eager_one_f_one_b}, 8},
        {NamedOrder{"naive", PipelineOrder::gpipe}, 1}}) {
    const auto program = pipeline_program(kFourStages, order, micro_batches);
    const Trace trace = emulate(construct(one_of_pipeline(), program));
    EXPECT_EQ(laws_broken_by_pipeline(trace), "") << order.name;
    EXPECT_EQ(trace.lockstep[top::devices].size(), 4u);
  }
  const NamedOrder interleaved{"interleaved", PipelineOrder::interleaved};
  EXPECT_EQ(laws_broken_by_pipeline(emulate(construct(
                one_of_pipeline(), pipeline_program(kEightStages, interleaved, 4, 2)))),
            "");
}

// Activations of ResNet18 for CIFAR-10, per image: 131,072 B after layer2, 65,536 B
// after layer3; 10 outputs. Six micro-batches of eight images.
TEST(ConstructPipeline, MovesWhatIsAtTheCuts) {
  const Trace trace = emulate(construct(
      one_of_pipeline(),
      pipeline_program({"layer3", "layer4"}, {"1f1b", PipelineOrder::one_f_one_b}, 6)));
  std::map<std::string, int64_t> bytes;
  for (const Event& event : trace.events) {
    if (!event.is(categories::copy)) continue;
    const CopyFacts copy = copy_facts(event);
    bytes[fmt::format("{} {}>{}", copy.why, copy.src, copy.dst)] += copy.bytes;
  }
  const std::map<std::string, int64_t> expected{{"h2d -1>0", 48 * 12'288},
                                                {"h2d -1>2", 48 * 8},
                                                {"activation 0>1", 48 * 131'072},
                                                {"activation 1>2", 48 * 65'536},
                                                {"activation_grad 2>1", 48 * 65'536},
                                                {"activation_grad 1>0", 48 * 131'072},
                                                {"d2h 2>-1", 12}};
  EXPECT_EQ(bytes, expected);
}

// Each kernel of the recorded step runs once per micro-batch, on one device; the update
// runs once, in parts.
TEST(ConstructPipeline, DoesTheWorkOfItsMicroBatches) {
  const auto work = [](const Trace& trace, int64_t step) {
    std::map<std::string, double> flops;
    for (const Event& event : trace.events) {
      if (!event.is(categories::kernel) || event.step != step) continue;
      flops[event.name.str()] += number_arg(event.args, keys::flops);
      if (event.name == "sgd") flops["sgd"] += number_arg(event.args, keys::bytes);
    }
    std::erase_if(flops, [](const auto& entry) { return entry.second == 0; });
    return flops;
  };
  const Trace alone = construct_single(one_of_pipeline());
  auto expected = work(alone, find_steps(alone).at(0).number);
  for (auto& [name, flops] : expected) flops *= name == "sgd" ? 1 : 4;
  const Trace trace =
      construct(one_of_pipeline(),
                pipeline_program(kFourStages, {"gpipe", PipelineOrder::gpipe}, 4));
  const auto found = work(trace, find_steps(trace).at(0).number);
  ASSERT_EQ(found.size(), expected.size());
  for (const auto& [name, flops] : expected) {
    EXPECT_NEAR(found.at(name), flops, name == "sgd" ? 4 : 0) << name;
  }
}

// Together, the parts have the kernels of both passes, without those of the loss.
TEST(ConstructPipeline, FindsTheTimesOfTheParts) {
  const Trace& trace = one_of_pipeline();
  int64_t forward = 0, backward = 0, loss = 0;
  std::map<int64_t, std::string> names;
  for (const Event& event : trace.events) {
    if (event.is(categories::op)) names[event.id] = event.name.str();
    if (!event.is(categories::kernel)) continue;
    const KernelFacts kernel = kernel_facts(event);
    const std::string& op = names[event.op];
    const bool of_loss = op == "aten::full_like" || op == "NllLossBackward0" ||
                         op == "LogSoftmaxBackward0";
    if (kernel.phase == phases::forward) forward += kernel.cpu;
    if (kernel.phase == phases::backward) (of_loss ? loss : backward) += kernel.cpu;
  }
  EXPECT_GT(loss, 0);
  for (const RecordedPart& part : recorded_parts(trace, {}, 0)) {
    forward -= part.forward_ns;
    backward -= part.backward_ns;
  }
  EXPECT_EQ(forward, 0);
  EXPECT_EQ(backward, 0);
}

TEST(ConstructPipeline, IsReproducedFromItsOwnDurations) {
  const Trace once = emulate(construct(
      one_of_pipeline(),
      pipeline_program(kFourStages, {"1f1b", PipelineOrder::one_f_one_b}, 4)));
  EmulateOptions same;
  same.measured_durations = true;
  const Trace twice = emulate(once, same);
  ASSERT_EQ(once.events.size(), twice.events.size());
  for (size_t i = 0; i < once.events.size(); ++i) {
    EXPECT_EQ(once.events[i].ts, twice.events[i].ts) << once.events[i].name;
    EXPECT_EQ(once.events[i].dur, twice.events[i].dur) << once.events[i].name;
  }
}

constexpr double kPassTime = 1e9;  ///< ns; far longer than what the host does

/// Returns the recorded step with kernels that take no time, except the first of each
/// stage in each direction: `forward` and twice that.
Trace with_equal_stages(const std::vector<std::string>& cuts, double forward) {
  Trace trace = one_of_pipeline();
  const ConstructedProgram program =
      pipeline_program(cuts, {"gpipe", PipelineOrder::gpipe}, 1);
  const Trace stages = construct(trace, program);
  std::map<std::pair<int64_t, bool>, int64_t> chosen;  // by device and direction
  for (const Event& event : stages.events) {
    const bool ahead = kernel_facts(event).phase == phases::forward;
    const bool pass = ahead || kernel_facts(event).phase == phases::backward;
    if (!event.is(categories::kernel) || !pass) continue;
    if (!event.args.contains(keys::flops)) continue;  // one that was recorded
    chosen.emplace(std::pair(int_arg(event.args, keys::device), ahead), event.id);
  }
  for (Event& event : trace.events) {
    if (!event.is(categories::kernel)) continue;
    double time = 0;
    for (const auto& [place, id] : chosen) {
      if (id == event.id) time = place.second ? forward : 2 * forward;
    }
    event.args[keys::cpu_us] = time * kPassTime / 1e3;
  }
  return trace;
}

/// Links from each device to each other one that only have a latency.
Hardware with_latency(int devices, double latency) {
  std::string wires;
  for (int a = 0; a < devices; ++a) {
    for (int b = a + 1; b < devices; ++b) {
      wires +=
          fmt::format(R"({{"from": ["gpu{}"], "to": ["gpu{}"], "link": "l"}},)", a, b);
    }
  }
  return parse_hardware(fmt::format(R"({{"name": "n", "description": "d", "source": "s",
        "links": {{"l": {{"class": "nvlink", "gb_per_s": 1000000,
                          "latency_us": {}, "source": "s"}},
                   "h": {{"class": "pcie", "gb_per_s": 1000000, "latency_us": 0,
                          "source": "s"}}}},
        "machine": {{"devices": {}, "wires": [{}
          {{"from": ["gpu*"], "to": ["host"], "link": "h"}}]}}}})",
                                    latency * kPassTime / 1e3, devices, wires),
                        "test.json");
}

/// Returns the time from the first to the last kernel of the passes, in units.
double makespan_of(const Trace& trace) {
  int64_t begin = INT64_MAX, end = 0;
  for (const Event& event : trace.events) {
    const std::string_view phase = kernel_facts(event).phase;
    if (!event.is(categories::kernel)) continue;
    if (phase != phases::forward && phase != phases::backward) continue;
    begin = std::min(begin, event.ts);
    end = std::max(end, event.end());
  }
  return static_cast<double>(end - begin) / kPassTime;
}

/// Returns the makespan if each device receives one message at a time, in the order in
/// which the host enqueues them: a device has one copy stream. F + B of all stages of a
/// device is 3.
double makespan_in_order(const plan::PipelineSchedule& schedule, double latency,
                         int stages_per_rank) {
  std::map<int, size_t> rank_of;
  for (size_t rank = 0; rank < schedule.size(); ++rank) {
    for (const auto& action : schedule[rank]) rank_of[action.stage] = rank;
  }
  std::map<size_t, double> free, receiving;                // by rank
  std::map<std::tuple<bool, int, int>, double> available;  // input of an action
  double last = 0;
  for (const auto& action : plan::order_of_starts(schedule)) {
    const bool ahead = action.op == plan::PipelineOp::forward;
    const size_t rank = rank_of[action.stage];
    const double start =
        std::max(free[rank], available[{ahead, action.stage, action.micro_batch}]);
    const double end = start + (ahead ? 1.0 : 2.0) / stages_per_rank;
    free[rank] = last = end;
    const int to = action.stage + (ahead ? 1 : -1);
    if (!rank_of.contains(to)) continue;
    double& arrived = receiving[rank_of[to]];
    arrived = std::max(arrived, end) + latency;
    available[{ahead, to, action.micro_batch}] = arrived;
  }
  return std::max(last, std::ranges::max_element(free, {}, [](const auto& entry) {
                          return entry.second;
                        })->second);
}

// Four devices, eight micro-batches, F = 1, B = 2, and messages that take a latency.
// Where no message waits for another one at the receiver, these are the makespans of
// free messages; with longer latencies the copies of a device delay each other.
TEST(ConstructPipeline, TakesTheTimeOfItsSchedule) {
  struct Row {
    double latency, gpipe, one_f_one_b, interleaved, eager;
  };
  for (const Row& row : {Row{0, 33, 33, 28.5, 33}, Row{0.1, 33.6, 34.6, 29.9, 33.6},
                         Row{0.25, 34.5, 37, 32, 34.5}, Row{0.5, 36, 41, 35.5, 36},
                         Row{1, 39, 49, 46, 39}}) {
    const Hardware links = with_latency(4, row.latency);
    EmulateOptions options;
    options.hardware = &links;
    const auto expect_time = [&](const NamedOrder& order, double free_messages,
                                 bool equal, int stages_per_rank = 1) {
      const auto& cuts = stages_per_rank == 1 ? kFourStages : kEightStages;
      const Trace recorded = with_equal_stages(cuts, 1.0 / stages_per_rank);
      const auto program = pipeline_program(cuts, order, 8, stages_per_rank);
      const double time = makespan_of(emulate(construct(recorded, program), options));
      EXPECT_NEAR(
          time,
          makespan_in_order(program.pipeline.schedule, row.latency, stages_per_rank),
          0.01)
          << order.name << " " << row.latency;
      EXPECT_GE(time, free_messages - 0.01) << order.name << " " << row.latency;
      if (equal) {
        EXPECT_NEAR(time, free_messages, 0.01) << order.name << " " << row.latency;
      }
    };
    expect_time({"gpipe", PipelineOrder::gpipe}, row.gpipe, true);
    expect_time({"1f1b", PipelineOrder::one_f_one_b}, row.one_f_one_b, true);
    expect_time({"interleaved", PipelineOrder::interleaved}, row.interleaved,
                row.latency < 0.2, 2);
    expect_time({"1f1b-eager", PipelineOrder::eager_one_f_one_b}, row.eager,
                row.latency < 0.9);
  }
}

TEST(ConstructPipeline, RefusesWhatCannotBeCut) {
  const NamedOrder gpipe{"gpipe", PipelineOrder::gpipe};
  ConstructedProgram uneven = pipeline_program(kFourStages, gpipe, 4);
  uneven.batch = 8 * 4 + 1;
  ConstructedProgram chunks = pipeline_program(kFourStages, gpipe, 5);
  chunks.batch = 16;
  ConstructedProgram stages = pipeline_program(kFourStages, gpipe, 4);
  stages.pipeline.cuts.pop_back();
  for (const auto& [program, says] :
       {std::pair{pipeline_program({"layer9"}, gpipe, 2),
                  "--split: 'layer9' was not called; fix: cut before a module that the "
                  "recorded step calls, such as bn1, relu, layer1"},
        {pipeline_program({"layer3", "layer2"}, gpipe, 2),
         "'layer2' is not called after layer3"},
        {pipeline_program({"conv1"}, gpipe, 2), "'conv1' leaves a stage without work"},
        {uneven, "has a batch of 9"},
        {chunks, "into 4 micro-batches of at most 4, not into 5"},
        {stages, "the schedule has 4 stages, but --split makes 3"}}) {
    try {
      construct(one_of_pipeline(), program);
      ADD_FAILURE() << says;
    } catch (const std::runtime_error& error) {
      EXPECT_NE(std::string(error.what()).find(says), std::string::npos)
          << error.what();
    }
  }
}

TEST(ConstructPipeline, SaysWhatItAssumes) {
  const Trace trace = emulate(
      construct(one_of_pipeline(),
                pipeline_program({"layer3"}, {"gpipe", PipelineOrder::gpipe}, 4)));
  const std::string assumed = trace.lockstep[top::emulation]["assumed"];
  EXPECT_NE(assumed.find("2 devices have 2 stages of the network, cut before layer3, "
                         "and a batch of 32 passes through them in 4 micro-batches"),
            assumed.npos)
      << assumed;
}

}  // namespace
}  // namespace lockstep::tracer
