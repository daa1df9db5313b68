// What is said of pipelines: in the summary, of files of PyTorch's profiler, of the
// file of one rank only, and nothing where there is no pipeline.
#include <gtest/gtest.h>

#include "tests/tracer/golden.h"
#include "tests/tracer/made_pipeline.h"
#include "tracer/analysis/summary.h"
#include "tracer/format/merge.h"
#include "tracer/kineto/kineto.h"

namespace lockstep::tracer {
namespace {

using plan::pipeline_schedule;
using plan::PipelineOrder;
using testing::grid_of;
using testing::made_pipeline;
using testing::one_and_two;
using testing::two_stages;
using enum Slot;

TEST(PipelineText, NothingIsSaidOfOtherTraces) {
  EXPECT_EQ(grid_of(read_trace(testing::minimal_path())), nullptr);
  EXPECT_EQ(grid_of(read_trace(testing::minimal_ddp_path())), nullptr);
  EXPECT_EQ(
      summary_text(summarize(read_trace(testing::minimal_path()))).find("pipeline"),
      std::string::npos);
  Trace null = two_stages();
  null.lockstep["devices"][0]["name"] = "null:0";
  EXPECT_EQ(grid_of(null), nullptr);
  Trace damaged = two_stages();
  for (Event& event : damaged.events) {
    if (event.args.contains("action")) event.args["action"] = "0F99999999";
  }
  EXPECT_EQ(grid_of(damaged), nullptr);
}

std::string text_of(const Trace& trace) { return summary_text(summarize(trace)); }

TEST(PipelineText, TheSummarySetsTheBubbleBesideTheFormula) {
  const std::string text = text_of(made_pipeline(
      pipeline_schedule(PipelineOrder::one_f_one_b, 4, 8), one_and_two(4)));
  for (const char* said :
       {"pipeline 1f1b: 4 stages on 4 devices, 8 micro-batches",
        "4 devices x 33.0 µs = 132 µs, of which", "fill", "drain",
        "The bubble is 27.3 % of it; with equally fast stages and free links, 27.3 % = "
        "3 / (8 + 3).",
        "live at most"}) {
    EXPECT_NE(text.find(said), std::string::npos) << said << "\n" << text;
  }
  for (const char* unsaid : {"uneven stages  ", "link ", "missing in this file"}) {
    const size_t from = text.find("pipeline 1f1b");
    EXPECT_EQ(text.find(unsaid, from), std::string::npos) << unsaid << "\n" << text;
  }
  const Json json = summary_json(summarize(two_stages()));
  const Json& pipeline = json["train"]["steps"][0]["pipeline"];
  EXPECT_EQ(pipeline["passes"].size(), 4u);
  EXPECT_EQ(pipeline["nanoseconds"]["fill"], 4000);
}

/// The same step as PyTorch's profiler writes it: a range per action, launches with
/// correlations; the backward pass on a thread of its own.
Trace ranges_of(const plan::PipelineSchedule& schedule,
                const plan::PipelineCosts& costs) {
  Trace ours = made_pipeline(schedule, costs), theirs;
  for (const Event& event : ours.events) {
    Event from = event;
    from.args = Args(Json::object());
    from.op = from.step = from.id = kNone;
    if (event.is(categories::phase) && event.args.contains("action")) {
      from.cat = "user_annotation";
      from.name = "PP:" + string_arg(event.args, "action");
      theirs.events.push_back(from);
    }
    if (event.is(categories::op)) {
      from.cat = "cpu_op";
      theirs.events.push_back(from);
      from.cat = "cuda_runtime", from.name = "cudaLaunchKernel", from.dur = 1;
      from.args["correlation"] = event.id;
      theirs.events.push_back(from);
    }
    const bool link = event.is(categories::copy);
    if (event.is(categories::kernel) || link) {
      from.args = {{"correlation", event.op},
                   {"device", event.pid - 1},
                   {"stream", link ? 20 : 7}};
      from.cat = "kernel";
      if (link) from.name = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)";
      theirs.events.push_back(from);
    }
  }
  sort_events(theirs.events);
  for (Event& event : theirs.events) {  // autograd's thread
    const bool backward = event.is("cpu_op") || event.is("cuda_runtime");
    if (backward && event.ts % 40 > 20) event.tid = 5;
  }
  return import_kineto(theirs);
}

TEST(PipelineText, OfPyTorchsRanges) {
  const auto schedule = pipeline_schedule(PipelineOrder::one_f_one_b, 4, 8);
  const Trace trace = ranges_of(schedule, one_and_two(4));
  const auto grid = grid_of(trace);
  ASSERT_NE(grid, nullptr);
  EXPECT_EQ(grid->times.sum(), 4 * grid->length());
  EXPECT_EQ(grid->length(), 33 * 1000);
  EXPECT_EQ(grid->times[fill] + grid->times[drain], 36 * 1000);
  EXPECT_EQ(grid->schedule, "");
  EXPECT_EQ(grid->stages[0].most_live, 4);
  EXPECT_NE(text_of(trace).find("pipeline: 4 stages"), std::string::npos);
}

TEST(PipelineText, SendAndRecvOfNcclAreTheLink) {
  const auto schedule = pipeline_schedule(PipelineOrder::gpipe, 4, 8);
  const auto ours = grid_of(made_pipeline(schedule, one_and_two(4, 0.25)));
  const auto theirs = grid_of(ranges_of(schedule, one_and_two(4, 0.25)));
  ASSERT_NE(theirs, nullptr);
  EXPECT_EQ(theirs->length(), ours->length());
  EXPECT_EQ(theirs->times.sum(), 4 * theirs->length());
  EXPECT_EQ(theirs->times[link], 2 * (1 + 2 + 3) * 250) << "each hop is awaited once";
  EXPECT_GT(ours->times[link], theirs->times[link]) << "a device also sends";
}

/// The files of two ranks, as tests/golden/pipeline_ranks.py writes them: stage 1 takes
/// 200 and 400 us, stage 0 half of that, a message 20 us.
Trace merged_ranks_of_pytorch() {
  std::vector<Trace> ranks;
  for (const char* name : {"pipeline_rank0.json", "pipeline_rank1.json"}) {
    ranks.push_back(import_kineto(read_trace(testing::golden() / name)));
  }
  return merge_traces(std::move(ranks), {"rank 0", "rank 1"});
}

TEST(PipelineText, OfTheFilesOfTwoRanksOfPyTorch) {
  const Trace trace = merged_ranks_of_pytorch();
  const auto grid = grid_of(trace);
  ASSERT_NE(grid, nullptr);
  ASSERT_EQ(grid->devices.size(), 2u);
  EXPECT_EQ(grid->length(), 2'740'000) << "100 + 20 + 4 x 600 + 20 + 200 us";
  EXPECT_EQ(grid->times.sum(), 2 * grid->length());
  const SlotTimes& first = grid->devices[0].times;
  const SlotTimes& last = grid->devices[1].times;
  EXPECT_EQ(first[pass], 4 * 300'000);
  EXPECT_EQ(last[pass], 4 * 600'000);
  EXPECT_EQ(first[link], 4 * 20'000) << "the gradients";
  EXPECT_EQ(last[link], 2 * 20'000) << "the first activation, the last gradient";
  EXPECT_EQ(grid->times[host] + grid->times[unknown] + grid->times[core], 0);
  EXPECT_GT(first[uneven], 500'000) << "the other stage is half as fast";
  EXPECT_EQ(grid->times.idle(), 2 * grid->length() - 3'600'000);
}

TEST(PipelineText, OneRanksFileLeavesWaitsUndivided) {
  Trace trace = made_pipeline(pipeline_schedule(PipelineOrder::one_f_one_b, 4, 8),
                              one_and_two(4));
  std::erase_if(trace.events, [](const Event& event) {
    const std::string action = string_arg(event.args, "action");
    return !action.empty() && action[0] != '1';
  });
  const auto grid = grid_of(trace);
  ASSERT_NE(grid, nullptr);
  ASSERT_EQ(grid->devices.size(), 1u);
  EXPECT_EQ(grid->times.sum(), grid->length());
  EXPECT_FALSE(grid->ideal.has_value());
  EXPECT_EQ(grid->times[uneven] + grid->times[knock_on], 0);
  EXPECT_EQ(grid->times[fill] + grid->times[drain] + grid->times[order],
            grid->times.idle());
  const std::string text = text_of(trace);
  EXPECT_NE(text.find("missing in this file"), std::string::npos) << text;
  EXPECT_EQ(text.find("3 / (8 + 3)"), std::string::npos);
}

TEST(PipelineText, ASecondRunOfTheScheduleIsCounted) {
  Trace trace = two_stages();
  const Trace again = trace;
  for (Event event : again.events) {
    if (event.ph != 'X' || event.name == names::step) continue;
    event.ts += 10 * 1000;
    event.id += 1000;
    if (event.op != kNone) event.op += 1000;
    trace.events.push_back(event);
  }
  for (Event& event : trace.events) {
    if (event.name == names::step) event.dur += 20 * 1000;
  }
  sort_events(trace.events);
  const auto grid = grid_of(trace);
  EXPECT_EQ(grid->rounds, 2);
  EXPECT_EQ(grid->length(), 6 * 1000);
  EXPECT_NE(text_of(trace).find("runs the schedule 2 times"), std::string::npos);
}

}  // namespace
}  // namespace lockstep::tracer
