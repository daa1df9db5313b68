// DataParallel, constructed from one device's step: it has the tasks that the engine
// records, obeys every law, and takes no less time than its longest path.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <tuple>

#include "tests/tracer/task_lines.h"
#include "tracer/analysis/check.h"
#include "tracer/analysis/steps.h"
#include "tracer/emulate/construct/construct.h"
#include "tracer/emulate/emulate.h"
#include "tracer/format/facts.h"

namespace lockstep::tracer {
namespace {

using testing::TaskLines;

Trace lesson_trace(const std::string& name) {
  return read_trace(std::string(LOCKSTEP_SOURCE_DIR) + "/lessons/" + name +
                    "/trace.json.gz");
}

/// A training step of ResNet18 for CIFAR-10 on one device, with 8 images.
const Trace& step_of_one() {
  static const Trace trace = lesson_trace("01-tape");
  return trace;
}

Trace dp_on(int devices, const Link& link = {}) {
  EmulateOptions options;
  options.link = link;
  ConstructedProgram program;
  program.mode = "dp";
  program.devices = devices;
  return emulate(construct(step_of_one(), program), options);
}

std::string laws_broken_by_dp(const Trace& trace) {
  std::string broken;
  for (const Finding& finding : check_trace(trace).findings) {
    if (!finding.ok) broken += finding.law + ": " + finding.message + "\n";
  }
  return broken;
}

int64_t dp_step_length(const Trace& trace) { return find_steps(trace).at(0).length(); }

TEST(ConstructDp, ObeysEveryLaw) {
  for (int devices = 1; devices <= 8; ++devices) {
    EXPECT_EQ(laws_broken_by_dp(dp_on(devices)), "") << devices << " devices";
  }
}

// Lesson 6 recorded one step on three devices: the same kernels and copies, on the same
// streams, in the same order, each waiting for the same ones.
TEST(ConstructDp, HasTheTasksThatTheEngineRecords) {
  const Trace engine = lesson_trace("06-reduce"), constructed = dp_on(3);
  EXPECT_EQ(TaskLines(constructed).lines(), TaskLines(engine).lines());
}

std::map<std::string, int64_t> copied_by_dp(const Trace& trace) {
  std::map<std::string, int64_t> bytes;
  for (const Event& event : trace.events) {
    if (!event.is(categories::copy)) continue;
    const CopyFacts copy = copy_facts(event);
    bytes[std::string(copy.why)] += copy.bytes;
  }
  return bytes;
}

// 8 images of 12,288 B and 8 labels, 44,695,848 B of parameters, 38,560 B of buffers,
// 8 × 10 outputs; three scalars are read.
TEST(ConstructDp, MovesTheBytesOfTheLedger) {
  const std::map<std::string, int64_t> expected{
      {"h2d", 4 * 64},     {"scatter", 4 * 98'304},   {"replicate", 3 * 44'734'408},
      {"gather", 3 * 320}, {"grad_scatter", 3 * 320}, {"reduce", 3 * 44'695'848},
      {"d2h", 12}};
  EXPECT_EQ(copied_by_dp(dp_on(4)), expected);
}

// With one device, the engine scatters and then calls the network.
TEST(ConstructDp, OnOneDeviceNothingIsReplicated) {
  const std::map<std::string, int64_t> expected{
      {"h2d", 64}, {"scatter", 98'304}, {"d2h", 12}};
  EXPECT_EQ(copied_by_dp(dp_on(1)), expected);
}

TEST(ConstructDp, IsReproducedFromItsOwnDurations) {
  const Trace once = dp_on(3);
  EmulateOptions same;
  same.measured_durations = true;
  const Trace twice = emulate(once, same);
  ASSERT_EQ(once.events.size(), twice.events.size());
  for (size_t i = 0; i < once.events.size(); ++i) {
    EXPECT_EQ(once.events[i].ts, twice.events[i].ts) << once.events[i].name;
    EXPECT_EQ(once.events[i].dur, twice.events[i].dur) << once.events[i].name;
  }
}

int64_t dp_busiest_stream(const Trace& trace) {
  std::map<LaneKey, int64_t> busy;
  int64_t most = 0;
  for (const Event& event : trace.events) {
    if (is_task(event)) most = std::max(most, busy[lane_of(event)] += event.dur);
  }
  return most;
}

TEST(ConstructDp, IsNeverFasterThanItsStreamsNorSlowedByFasterLinks) {
  int64_t before = INT64_MAX;
  for (const double gb_per_s : {0.1, 1.0, 12.0, 300.0}) {
    const Trace trace = dp_on(4, {gb_per_s, 10});
    const int64_t now = dp_step_length(trace);
    EXPECT_LE(now, before) << gb_per_s;
    EXPECT_GE(now, dp_busiest_stream(trace)) << gb_per_s;
    before = now;
  }
  // Device 0 sends 3 · 44.7 MB and, afterwards, receives as much.
  EXPECT_GE(dp_step_length(dp_on(4, {0.1, 10})), 2 * 1'340'000'000LL);
  EXPECT_GE(dp_step_length(dp_on(2)), dp_step_length(dp_on(1)));
}

/// Returns when the first and the last kernel of a device in a phase begin and end.
std::pair<int64_t, int64_t> dp_kernels_of(const Trace& trace, int64_t device,
                                          std::string_view phase) {
  std::pair<int64_t, int64_t> span{INT64_MAX, INT64_MIN};
  for (const Event& event : trace.events) {
    if (!event.is(categories::kernel) || kernel_facts(event).phase != phase ||
        int_arg(event.args, keys::device) != device) {
      continue;
    }
    span = {std::min(span.first, event.ts), std::max(span.second, event.end())};
  }
  return span;
}

TEST(ConstructDp, WaitsWhereTheEngineWaits) {
  const Trace trace = dp_on(3, {0.1, 10});  // links far slower than computing
  std::map<std::pair<std::string, int64_t>, int64_t> last_copy;
  int64_t first_reduce = INT64_MAX;
  for (const Event& event : trace.events) {
    if (!event.is(categories::copy)) continue;
    const CopyFacts copy = copy_facts(event);
    int64_t& last = last_copy[{std::string(copy.why), copy.dst}];
    last = std::max(last, event.end());
    if (copy.why == reasons::reduce) first_reduce = std::min(first_reduce, event.ts);
  }
  for (const int64_t device : {1, 2}) {
    EXPECT_GE(dp_kernels_of(trace, device, phases::parallel_apply).first,
              (last_copy[{"replicate", device}]));
    EXPECT_LE(dp_kernels_of(trace, device, phases::backward).second, first_reduce);
  }
  EXPECT_GE(dp_kernels_of(trace, 0, phases::loss).first, (last_copy[{"gather", 0}]));
  EXPECT_GE(dp_kernels_of(trace, 0, phases::optimizer).first,
            (last_copy[{"reduce", 0}]));
  // Device 0 has the parameters already: it does not wait for the others' copies.
  EXPECT_LT(dp_kernels_of(trace, 0, phases::parallel_apply).first,
            (last_copy[{"replicate", 1}]));
}

TEST(ConstructDp, ReplicasComputeAtTheSameTime) {
  const Trace trace = dp_on(3);
  const auto one = dp_kernels_of(trace, 1, phases::parallel_apply);
  const auto two = dp_kernels_of(trace, 2, phases::parallel_apply);
  EXPECT_LT(std::max(one.first, two.first), std::min(one.second, two.second));
}

TEST(ConstructDp, SaysWhatItAssumes) {
  const std::string assumed = dp_on(2).lockstep[top::emulation]["assumed"];
  for (const char* part : {"2 devices share a batch of 16", "a host thread of its own",
                           "in proportion to its bytes", "takes the host no time"}) {
    EXPECT_NE(assumed.find(part), assumed.npos) << part << " in " << assumed;
  }
}

std::string dp_refusal(const ConstructedProgram& program) {
  try {
    construct(step_of_one(), program);
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

TEST(ConstructDp, RefusesWhatItWouldHaveToGuess) {
  const auto with = [](int devices, int64_t batch, const char* mode = "dp") {
    ConstructedProgram program;
    program.devices = devices;
    program.batch = batch;
    program.mode = mode;
    return dp_refusal(program);
  };
  EXPECT_EQ(with(2, 16), "");
  EXPECT_NE(with(2, 15).find("batch"), std::string::npos);
  EXPECT_NE(with(65, 0).find("65 devices"), std::string::npos);
  EXPECT_NE(with(2, 16, "hogwild").find("mode hogwild"), std::string::npos);
}

}  // namespace
}  // namespace lockstep::tracer
