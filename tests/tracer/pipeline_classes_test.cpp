// One word, one time: what the grid of a pipeline and the division of its step both
// name takes equally long in both, on recorded, constructed, made and imported
// pipelines.
#include <gtest/gtest.h>

#include "tests/tracer/golden.h"
#include "tests/tracer/made_pipeline.h"
#include "tracer/analysis/summary.h"
#include "tracer/emulate/construct/construct.h"
#include "tracer/emulate/emulate.h"
#include "tracer/format/merge.h"
#include "tracer/kineto/kineto.h"

namespace lockstep::tracer {
namespace {

/// Returns the times of a device's pieces from `begin` to `end`.
SpentTimes times_between(const DevicePieces& device, int64_t begin, int64_t end) {
  SpentTimes times;
  for (const SpentPiece& piece : device.pieces) {
    times[piece.spent] +=
        std::max<int64_t>(0, std::min(piece.end, end) - std::max(piece.begin, begin));
  }
  return times;
}

/// The classes of both, which have to last equally long.
struct SharedClass {
  const char* name;
  std::vector<Slot> slots;
  std::vector<Spent> spents;
};

const std::vector<SharedClass>& shared_classes() {
  static const std::vector<SharedClass> classes = {
      {kWaitingForCore, {Slot::core}, {Spent::core}},
      {kWaitingForGpu, {Slot::gpu}, {Spent::gpu}},
      {"imbalance",
       {Slot::fill, Slot::drain, Slot::order, Slot::uneven, Slot::knock_on},
       {Spent::imbalance}},
      {"host", {Slot::host}, {Spent::host, Spent::loader, Spent::lock}},
      {"link", {Slot::link}, {Spent::activations, Spent::collectives}},
      {"wake-ups", {Slot::wake_ups}, {Spent::wake_ups}},
      {"unknown", {Slot::unknown}, {Spent::unknown, Spent::undivided}}};
  return classes;
}

/// Compares each device of each step, and returns what the grids add up to.
SlotTimes expect_same_times(const Trace& trace, const std::string& what) {
  const Lanes lanes(trace);
  const Splitter splitter(trace, lanes);
  const PipelineReader pipelines(trace, lanes);
  SlotTimes sum;
  for (const Step& step : join_ranks(find_steps(trace, lanes))) {
    std::vector<DevicePieces> pieces = splitter.pieces(step);
    const auto grid = pipelines.of(step, pieces);
    if (grid == nullptr) continue;
    for (size_t i = 0; i < kSlots; ++i) sum.times[i] += grid->times.times[i];
    for (const PipelineDevice& device : grid->devices) {
      const auto own = std::ranges::find_if(pieces, [&](const DevicePieces& other) {
        return other.rank == device.rank && other.device == device.device;
      });
      EXPECT_NE(own, pieces.end()) << what;
      if (own == pieces.end()) continue;
      const SpentTimes spent = times_between(*own, grid->begin, grid->end);
      EXPECT_EQ(spent.sum(), device.times.sum()) << what;
      for (const auto& [name, slots, spents] : shared_classes()) {
        int64_t of_grid = 0, of_step = 0;
        for (const Slot slot : slots) of_grid += device.times[slot];
        for (const Spent one : spents) of_step += spent[one];
        EXPECT_EQ(of_grid, of_step)
            << what << ": " << name << " on device " << device.device;
      }
    }
  }
  EXPECT_GT(sum.sum(), 0) << what << ": no pipeline";
  return sum;
}

TEST(PipelineClasses, LastAsLongInTheStepOfARecording) {
  const Trace trace = read_trace(testing::golden() / "viewer/pipeline.json.gz");
  const SlotTimes grid = expect_same_times(trace, "recorded");
  EXPECT_GT(grid[Slot::core], 0) << "four devices shared two cores";
  EXPECT_EQ(grid[Slot::unknown], 0);
}

TEST(PipelineClasses, LastAsLongInAConstructedStep) {
  const Trace one =
      read_trace(std::string(LOCKSTEP_SOURCE_DIR) + "/lessons/01-tape/trace.json.gz");
  for (const plan::PipelineOrder order :
       {plan::PipelineOrder::gpipe, plan::PipelineOrder::one_f_one_b}) {
    ConstructedProgram program;
    program.mode = "model-parallel";
    program.pipeline = {{"layer2", "layer3", "layer4"},
                        plan::pipeline_schedule(order, 4, 4),
                        "constructed"};
    const SlotTimes grid =
        expect_same_times(emulate(construct(one, program)), "constructed");
    EXPECT_EQ(grid[Slot::core] + grid[Slot::unknown], 0);
    EXPECT_GT(grid[Slot::uneven], 0);
  }
}

TEST(PipelineClasses, LastAsLongInMadeSteps) {
  const auto schedule = plan::pipeline_schedule(plan::PipelineOrder::one_f_one_b, 4, 8);
  testing::MadePipeline busy;
  busy.queued = 100;
  const Trace trace =
      testing::made_pipeline(schedule, testing::one_and_two(4, 0.25), busy);
  EXPECT_GT(expect_same_times(trace, "made")[Slot::core], 0);
}

// The profiler records no dependencies: the schedule says what a pass waits for, and
// the step's division takes it over.
TEST(PipelineClasses, LastAsLongInAnImport) {
  std::vector<Trace> ranks;
  for (const char* name : {"pipeline_rank0.json", "pipeline_rank1.json"}) {
    ranks.push_back(import_kineto(read_trace(testing::golden() / name)));
  }
  const Trace trace = merge_traces(std::move(ranks), {"rank 0", "rank 1"});
  EXPECT_GT(expect_same_times(trace, "imported")[Slot::uneven], 0);
}

TEST(PipelineClasses, AreThoseOfTheSummarysJson) {
  const auto schedule = plan::pipeline_schedule(plan::PipelineOrder::gpipe, 4, 8);
  const Summary summary =
      summarize(testing::made_pipeline(schedule, testing::one_and_two(4)));
  const Json step = summary_json(summary)["train"]["steps"][0];
  int64_t waits = 0;
  for (const char* name : {"fill", "drain", "order", "uneven stages", "knock-on"}) {
    waits += step["pipeline"]["nanoseconds"][name].get<int64_t>();
  }
  EXPECT_EQ(waits, 36'000);
  const Split& split = summary.train.steps[0].split;
  EXPECT_EQ(step["device_time"]["nanoseconds"]["imbalance"],
            split.spent[Spent::imbalance]);
  EXPECT_GE(split.spent[Spent::imbalance], waits) << "also outside of the grid";
}

}  // namespace
}  // namespace lockstep::tracer
