// The emulator. With measured durations it reproduces the measured times to the
// nanosecond; with emulated hardware it keeps every dependency. Events are addressed by
// their paths (named_events.h), in minimal.json
//
//   step 0
//     forward
//       DataParallel.__call__
//         Scatter
//           scatter images@cpu:0
//           scatter images@cpu:1
//         Broadcast
//           replicate parameters@cpu:1
//           replicate buffers@cpu:1
//         aten::linear#1
//           aten::linear@cpu:0
//         aten::linear#2  [replica 1]
//           aten::linear@cpu:1
//         wait for replicas
//         Gather
//           gather outputs@cpu:0
//     aten::to
//       labels to device 0@cpu:0
//     backward
//       GatherBackward
//         gradient of outputs@cpu:1
//       AddmmBackward0#1
//         AddmmBackward0@cpu:0
//       AddmmBackward0#2
//         AddmmBackward0@cpu:1
//           grad_ready@cpu:1
//       BroadcastBackward
//         reduce gradients@cpu:0
//     aten::item
//       wait for the loss
//       loss to the host  [copies to the host]
//
// and in two traces written here: one of threads that wait for each other, and one of a
// loader that prefetches:
//
//   enqueue
//     kernel@device 0
//   wait
//   enqueue the last
//     last kernel@device 0
//       grad_ready@device 0
//   call
//     wait for the last
//     go on
//
//   step 0
//     data
//     enqueue
//       kernel@device 0
//     wait
//   _MapDatasetFetcher.fetch#1
//   step 1
//     data
//       wait for batch
//   _MapDatasetFetcher.fetch#2
#include "tracer/emulate/emulate.h"

#include <vector>

#include "tests/tracer/emulated.h"
#include "tracer/analysis/check.h"
#include "tracer/analysis/steps.h"
#include "tracer/emulate/longest_path.h"
#include "tracer/emulate/retime.h"
#include "tracer/format/lanes.h"

namespace lockstep::tracer {
namespace {

using namespace testing;  // NOLINT

constexpr EmulateOptions kMeasured{.measured_durations = true};

TEST(Emulate, WithMeasuredDurationsReturnsEveryTime) {
  const TemporaryFolder folder;
  Trace trace = read_trace(minimal_path());
  expect_header_shows("tests/tracer/emulate_test.cpp", NamedTrace(trace));
  Trace again = emulate(trace, kMeasured);
  trace.lockstep = again.lockstep = Json::object();
  write_trace(trace, folder / "a.json");
  write_trace(again, folder / "b.json");
  EXPECT_EQ(slurp(folder / "a.json"), slurp(folder / "b.json"));
}

TEST(Emulate, SaysThatItEmulated) {
  const Trace trace = emulate(read_trace(minimal_path()));
  EXPECT_EQ(trace.lockstep["clock"], "emulated");
  EXPECT_EQ(trace.lockstep["emulation"]["link_gb_per_s"], 12.0);
  EXPECT_EQ(trace.lockstep["emulation"]["assumed"], assumptions({}));
  const std::string slow = assumptions({.link = {.gb_per_s = 1.5, .latency_us = 2}});
  EXPECT_NE(slow.find("copies: 1.5 GB/s + 2 µs"), std::string::npos) << slow;
}

TEST(Emulate, ScalesKernelsAndNothingElse) {
  const Trace recorded = read_trace(minimal_path());
  const Emulated fast(recorded, {.compute_scale = 3}), plain(recorded);
  EXPECT_EQ(fast["aten::linear@cpu:0"].dur, plain["aten::linear@cpu:0"].dur / 3);
  EXPECT_EQ(fast["gather outputs@cpu:0"].dur, plain["gather outputs@cpu:0"].dur);
  EXPECT_NE(assumptions({.compute_scale = 3}).find("1/3 of its CPU time"),
            std::string::npos);
  EXPECT_THROW(emulate(recorded, {.compute_scale = 0}), std::runtime_error);
}

TEST(Emulate, KnowsTheRateOfTheRecordedKernels) {
  EXPECT_EQ(kernel_flops_per_second(read_trace(minimal_path())), 0) << "none recorded";
  const Trace trace = parse_trace(R"([
    {"ph":"X","cat":"kernel","name":"a","ts":0,"dur":9,
     "args":{"id":1,"flops":6000,"cpu_us":2}},
    {"ph":"X","cat":"kernel","name":"b","ts":9,"dur":1,"args":{"id":2}}])",
                                  "by hand");
  EXPECT_DOUBLE_EQ(kernel_flops_per_second(trace), 6000 / 3e-6);
}

TEST(Emulate, AHostThreadWakesUpSoonWhenNoKernelTakesItsCore) {
  const Emulated step(parse_trace(R"([
    {"ph":"X","cat":"op","name":"enqueue","tid":0,"ts":0,"dur":1,"args":{"id":1}},
    {"ph":"X","cat":"sync","name":"wait","tid":0,"ts":2,"dur":998,
     "args":{"id":2,"for":[3],"why":"item"}},
    {"ph":"X","cat":"kernel","name":"kernel","pid":1,"ts":5,"dur":95,
     "args":{"id":3,"op":1,"cpu_us":95,"device":0}}])",
                                  "by hand"));
  EXPECT_EQ(step.end("kernel@device 0"), 95'000);
  EXPECT_EQ(step.end("wait"), 115'000) << "recorded 900 µs later on a busy machine";
}

TEST(Emulate, TheResultObeysEveryLaw) {
  const Trace trace = emulate(read_trace(minimal_path()));
  EXPECT_TRUE(check_trace(trace).ok()) << check_text(check_trace(trace));
}

// Derived manually, for a link with 1 µs latency and unlimited bandwidth:
//   the scatter copies start with their op at 3.000 and arrive at 4.000;
//   replicate follows on the same lane after its op at 6.000: 6 to 7, 7 to 8;
//   device 0's kernel starts with its op at 9.000 and lasts its CPU time: until 15.000;
//   device 1's kernel starts with its op at 10.000 and lasts until 15.000.
TEST(Emulate, GivesEveryDeviceHardwareOfItsOwn) {
  const EmulateOptions options{.link = {.gb_per_s = 1e12, .latency_us = 1}};
  const Emulated step(read_trace(minimal_path()), options);
  EXPECT_EQ(step.begin("scatter images@cpu:0"), 3000);
  EXPECT_EQ(step.end("scatter images@cpu:0"), 4000);
  EXPECT_EQ(step.begin("replicate parameters@cpu:1"), 6000);
  EXPECT_EQ(step.begin("replicate buffers@cpu:1"), 7000);
  EXPECT_EQ(step.begin("aten::linear@cpu:0"), 9000);
  EXPECT_EQ(step.end("aten::linear@cpu:0"), 15000);
  EXPECT_EQ(step.begin("aten::linear@cpu:1"), 10000);
  EXPECT_EQ(step.end("aten::linear@cpu:1"), 15000);
  EXPECT_EQ(step["aten::linear@cpu:1"].args["queued_us"], 0.0);
  // gather's op is at 14, but labels (op at 21) precede it on that lane, so it runs
  // from 22 to 23; the gradient of the outputs from 24 to 25; backward's kernels from
  // 27 to 35 and from 30 to 37; reduce from 37 to 38; the copy of the loss from 42 to
  // 43, after its op; the wait ends 1 µs later, as recorded.
  EXPECT_EQ(step.begin("gather outputs@cpu:0"), 22000);
  EXPECT_EQ(step.end("AddmmBackward0@cpu:1"), 37000);
  EXPECT_EQ(step.begin("grad_ready@cpu:1"), 37000) << "a mark moves with its kernel";
  EXPECT_EQ(step.begin("reduce gradients@cpu:0"), 37000);
  EXPECT_EQ(step.begin("loss to the host"), 42000);
  EXPECT_EQ(step.end("wait for the loss"), 44000);
  EXPECT_EQ(step.end("aten::item"), 45000) << "host time after the wait is unchanged";
  EXPECT_EQ(step.end("step 0"), 49000);
}

/// The host enqueues a kernel with 10 µs of CPU time and waits for it. Then it calls a
/// thread, which waits for the last kernel, enqueued by a third thread, and continues.
Trace waits_then_calls() {
  return parse_trace(R"([
    {"ph":"X","cat":"op","name":"enqueue","tid":0,"ts":0,"dur":1,"args":{"id":1}},
    {"ph":"X","cat":"sync","name":"wait","tid":0,"ts":2,"dur":88,
     "args":{"id":2,"for":[3]}},
    {"ph":"X","cat":"kernel","name":"kernel","pid":1,"ts":5,"dur":80,
     "args":{"id":3,"op":1,"cpu_us":10,"device":0}},
    {"ph":"X","cat":"op","name":"enqueue the last","tid":2,"ts":60,"dur":1,
     "args":{"id":8}},
    {"ph":"X","cat":"kernel","name":"last kernel","pid":1,"ts":85,"dur":2,
     "args":{"id":9,"op":8,"device":0}},
    {"ph":"i","cat":"mark","name":"grad_ready","pid":1,"ts":85,"args":{"id":7,"by":3}},
    {"ph":"X","cat":"call","name":"call","tid":0,"ts":92,"dur":28,"args":{"id":4}},
    {"ph":"X","cat":"sync","name":"wait for the last","tid":1,"ts":100,"dur":5,
     "args":{"id":5,"parent":4,"for":[9]}},
    {"ph":"X","cat":"op","name":"go on","tid":1,"ts":107,"dur":1,
     "args":{"id":6,"parent":4}},
    {"ph":"C","name":"memory","pid":1,"ts":110,"args":{"inputs":1}}])",
                     "by hand");
}

TEST(Emulate, WithoutCopiesPortsChangeNothing) {
  const Trace recorded = waits_then_calls();
  const Lanes lanes(recorded);
  const TimingGraph graph(recorded, lanes);
  const Weights weights{[](const Event& task) { return task.dur; },
                        [](const Event&, int64_t gap) { return gap; },
                        [](const Event&, int64_t lag) { return lag; }};
  const auto no_route = [](const Event&) { return std::optional<Route>(); };
  EXPECT_EQ(retime(graph, weights).times,
            retime_with_ports(graph, weights, no_route).times);
}

// The kernel runs from 0 to 10 instead of 5 to 85. Waking up took 5, so the wait ends
// at 15 instead of 90, and later events move by 75. The last kernel cannot start before
// its op at 60. Its waiter wakes up 5 after 62 and continues after 2 more.
TEST(Emulate, AThreadMovesWithItsCallerAndThenByItself) {
  const Trace recorded = waits_then_calls();
  expect_header_shows("tests/tracer/emulate_test.cpp", NamedTrace(recorded));
  const Emulated fast(recorded);
  EXPECT_EQ(fast.end("kernel@device 0"), 10'000);
  EXPECT_EQ(fast.end("wait"), 15'000);
  EXPECT_EQ(fast.begin("call"), 17'000);
  EXPECT_EQ(fast.begin("call/wait for the last"), 25'000);
  EXPECT_EQ(fast.begin("last kernel@device 0"), 60'000);
  EXPECT_EQ(fast.end("call/wait for the last"), 67'000);
  EXPECT_EQ(fast.begin("call/go on"), 69'000);
  EXPECT_EQ(fast.begin("grad_ready@device 0"), 10'000)
      << "a mark moves with the kernel that caused it";
  const auto memory = std::find_if(fast.trace.events.begin(), fast.trace.events.end(),
                                   [](const Event& event) { return event.ph == 'C'; });
  EXPECT_EQ(memory->ts, 72'000) << "a counter moves with the host";
}

/// Two steps of 40 µs that wait for a kernel of 30 µs with 10 µs of CPU time. A worker
/// makes the second step's batch when the first has been taken, 35 µs before it is
/// needed, and the third batch when the second has been taken.
Trace loads_ahead() {
  return parse_trace(R"([
    {"ph":"X","cat":"phase","name":"step","ts":0,"dur":40,"args":{"id":1,"step":0}},
    {"ph":"X","cat":"phase","name":"data","ts":0,"dur":2,"args":{"id":5,"step":0}},
    {"ph":"X","cat":"call","name":"_MapDatasetFetcher.fetch","tid":1,"ts":3,"dur":4,
     "args":{"id":7,"step":1,"batch":1,"after":5}},
    {"ph":"X","cat":"op","name":"enqueue","ts":4,"dur":1,"args":{"id":3,"step":0}},
    {"ph":"X","cat":"kernel","name":"kernel","pid":1,"ts":5,"dur":30,
     "args":{"id":4,"step":0,"op":3,"cpu_us":10,"device":0}},
    {"ph":"X","cat":"sync","name":"wait","ts":6,"dur":30,
     "args":{"id":8,"step":0,"for":[4]}},
    {"ph":"X","cat":"phase","name":"step","ts":41,"dur":4,"args":{"id":2,"step":1}},
    {"ph":"X","cat":"phase","name":"data","ts":41,"dur":3,"args":{"id":6,"step":1}},
    {"ph":"X","cat":"sync","name":"wait for batch","ts":42,"dur":1,
     "args":{"id":10,"step":1,"for":[7]}},
    {"ph":"X","cat":"call","name":"_MapDatasetFetcher.fetch","tid":1,"ts":44,"dur":4,
     "args":{"id":9,"step":1,"batch":2,"after":6}}])",
                     "by hand");
}

const char* const kSecondBatch = "_MapDatasetFetcher.fetch#1";
const char* const kThirdBatch = "_MapDatasetFetcher.fetch#2";

// The kernel runs from 4 to 14, so the second step begins at 20 instead of 41. The
// worker's idle time between its batches shrinks accordingly.
TEST(Emulate, ALoadersWorkerKeepsPaceWithTheSteps) {
  const Trace recorded = loads_ahead();
  expect_header_shows("tests/tracer/emulate_test.cpp", NamedTrace(recorded));
  const Emulated fast(recorded);
  EXPECT_EQ(fast.end("kernel@device 0"), 14'000);
  EXPECT_EQ(fast.begin("step 1"), 20'000);
  EXPECT_EQ(fast.begin(kSecondBatch), 3'000);
  EXPECT_EQ(fast.begin(kThirdBatch), 23'000)
      << "1 µs after the batch was taken, as recorded";
  const Step second = find_steps(fast.trace).at(1);
  EXPECT_EQ(second.length(), 4'000) << "excludes the third batch";
  EXPECT_EQ(longest_path(fast.trace, second).path, 3'000) << "without waking up";
}

// The worker was busy until 44, so it started the third batch without waiting. With a
// kernel of 80 µs it must wait: there is room only when the second step begins to take
// its batch.
TEST(Emulate, AWorkerThatIsAheadWaitsForRoom) {
  Trace trace = loads_ahead();
  const NamedTrace names(trace);
  event_at(trace, names, "kernel@device 0").args["cpu_us"] = 80;
  event_at(trace, names, "wait for batch").waits_for = {};
  Event& batch = event_at(trace, names, kSecondBatch);
  batch.ts = 39'500, batch.dur = 4'500;
  batch.args.erase("after");  // its dependency is unknown
  sort_events(trace.events);
  const Emulated slow(trace);
  EXPECT_EQ(slow.end("kernel@device 0"), 84'000);
  EXPECT_EQ(slow.begin("step 1/data"), 90'000);
  EXPECT_EQ(slow.begin(kThirdBatch), 90'000);
}

TEST(Emulate, ABatchIsNotTakenBeforeItIsMade) {
  Trace trace = loads_ahead();
  event_at(trace, NamedTrace(trace), kSecondBatch).dur = 36'000;  // until 39
  const Emulated fast(trace);
  EXPECT_EQ(fast.begin("wait for batch"), 21'000);
  EXPECT_EQ(fast.end("wait for batch"), 40'000) << "made at 39; woken 1 µs later";
  EXPECT_EQ(fast.begin(kThirdBatch), 41'000);
}

// The main thread's wait ends 75 sooner, but the other thread runs as recorded: what it
// allocated at 91.5 precedes what the main thread allocated after the wait.
TEST(Emulate, TheCountersOfADeviceKeepTheirOrder) {
  const Trace recorded = parse_trace(R"([
    {"ph":"X","cat":"op","name":"enqueue","tid":0,"ts":0,"dur":1,"args":{"id":1}},
    {"ph":"X","cat":"sync","name":"wait","tid":0,"ts":2,"dur":88,
     "args":{"id":2,"for":[3]}},
    {"ph":"X","cat":"kernel","name":"kernel","pid":1,"ts":5,"dur":80,
     "args":{"id":3,"op":1,"cpu_us":10,"device":0}},
    {"ph":"X","cat":"op","name":"other","tid":2,"ts":91,"dur":1,"args":{"id":4}},
    {"ph":"C","name":"memory","pid":1,"ts":91.5,"args":{"inputs":1}},
    {"ph":"X","cat":"op","name":"next","tid":0,"ts":92,"dur":1,"args":{"id":5}},
    {"ph":"C","name":"memory","pid":1,"ts":92.5,"args":{"inputs":2}}])",
                                     "by hand");
  std::vector<int64_t> inputs, times;
  for (const Event& event : emulate(recorded).events) {
    if (event.name == "next") {
      EXPECT_EQ(event.ts, 17'000);
    }
    if (event.ph != 'C') continue;
    inputs.push_back(int_arg(event.args, "inputs"));
    times.push_back(event.ts);
  }
  EXPECT_EQ(inputs, (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(times, (std::vector<int64_t>{91'500, 91'500}));
}

TEST(Emulate, ACopyLastsWhatTheLinkSays) {
  const EmulateOptions options{.link = {.gb_per_s = 0.001, .latency_us = 2}};
  const Emulated step(read_trace(minimal_path()), options);
  EXPECT_EQ(step["scatter images@cpu:0"].dur, 2000 + 40'000);  // 40 B at 1 MB/s
}

TEST(Emulate, RefusesAnImpossibleLink) {
  const Trace trace = read_trace(minimal_path());
  EXPECT_THROW(emulate(trace, {.link = {.gb_per_s = 0}}), std::runtime_error);
  EXPECT_THROW(emulate(trace, {.link = {.latency_us = -1}}), std::runtime_error);
}

TEST(Emulate, RefusesEventsThatWaitForThemselves) {
  Trace trace = read_trace(minimal_path());
  const NamedTrace names(trace);
  Event& first = event_at(trace, names, "aten::linear@cpu:0");
  Event& second = event_at(trace, names, "aten::linear@cpu:1");
  first.deps = {second.id}, second.deps = {first.id};
  EXPECT_THROW(emulate(trace), std::runtime_error);
}

TEST(LongestPath, ReproducesTheMeasuredStep) {
  const Trace trace = read_trace(minimal_path());
  const std::vector<Step> steps = find_steps(trace);
  const LongestPath path = longest_path(trace, steps.at(0));
  EXPECT_EQ(path.measured, 95'000);
  // Waits that no dependency explains, such as device 1's kernel, which started 0.5 µs
  // after its queueing time, add up to a few µs.
  EXPECT_NEAR(path.ratio(), 1.0, 0.12);
  int64_t sum = 0;
  for (const PathPiece& piece : path.pieces) sum += piece.nanoseconds;
  EXPECT_EQ(sum, path.path);
}

/// Steps share what is looked up on the way back: the result is that of each alone.
TEST(LongestPath, OfAllStepsIsThatOfEachStep) {
  const Trace trace =
      read_trace(std::string(LOCKSTEP_SOURCE_DIR) + "/tests/golden/viewer/ddp.json.gz");
  const std::vector<Step> steps = join_ranks(find_steps(trace));
  ASSERT_GT(steps.size(), 1u);
  const Lanes lanes(trace);
  const std::vector<LongestPath> paths = LongestPaths(trace, lanes).of(steps);
  for (size_t i = 0; i < steps.size(); ++i) {
    const LongestPath alone = longest_path(trace, steps[i]);
    EXPECT_EQ(paths[i].path, alone.path);
    ASSERT_EQ(paths[i].pieces.size(), alone.pieces.size());
    for (size_t k = 0; k < alone.pieces.size(); ++k) {
      EXPECT_EQ(paths[i].pieces[k].event, alone.pieces[k].event);
      EXPECT_EQ(paths[i].pieces[k].what, alone.pieces[k].what);
      EXPECT_EQ(paths[i].pieces[k].nanoseconds, alone.pieces[k].nanoseconds);
    }
  }
}

TEST(LongestPath, AMissingEdgeMakesItTooShort) {
  Trace trace = read_trace(minimal_path());
  for (Event& event : trace.events) {
    if (event.is("sync")) event.waits_for.clear();
  }
  event_at(trace, NamedTrace(trace), "loss to the host").deps.clear();
  const std::vector<Step> steps = find_steps(trace);
  const double without = longest_path(trace, steps.at(0)).ratio();
  Trace whole = read_trace(minimal_path());
  EXPECT_NE(without, longest_path(whole, find_steps(whole).at(0)).ratio());
}

}  // namespace
}  // namespace lockstep::tracer
