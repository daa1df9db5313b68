// The emulator: with measured durations it returns what was measured, to the
// nanosecond; with hardware of its own it keeps every dependency.
#include "tracer/emulate/emulate.h"

#include "tests/tracer/golden.h"
#include "tracer/analysis/check.h"
#include "tracer/analysis/steps.h"
#include "tracer/emulate/longest_path.h"

namespace lockstep::tracer {
namespace {

using namespace testing;  // NOLINT

constexpr EmulateOptions kMeasured{.measured_durations = true};

const Event& find(const Trace& trace, int64_t id) {
  for (const Event& event : trace.events) {
    if (event.id == id) return event;
  }
  throw std::out_of_range("no event " + std::to_string(id));
}

TEST(Emulate, WithMeasuredDurationsReturnsEveryTime) {
  const TemporaryFolder folder;
  Trace trace = read_trace(minimal_path());
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

TEST(Emulate, TheResultObeysEveryLaw) {
  const Trace trace = emulate(read_trace(minimal_path()));
  EXPECT_TRUE(check_trace(trace).ok()) << check_text(check_trace(trace));
}

// By hand, with the link's latency at 1 µs and nothing for the bytes:
//   the scatter copies start with their op at 3.000 and arrive at 4.000;
//   replicate follows on the same lane, not before its op at 6.000: 6 to 7, 7 to 8;
//   kernel 23 starts with its op at 9.000 and lasts its CPU time: until 15.000;
//   kernel 25 with its op at 10.000: until 15.000.
TEST(Emulate, GivesEveryDeviceHardwareOfItsOwn) {
  const EmulateOptions options{.link = {.gb_per_s = 1e12, .latency_us = 1}};
  const Trace trace = emulate(read_trace(minimal_path()), options);
  EXPECT_EQ(find(trace, 20).ts, 3000);
  EXPECT_EQ(find(trace, 20).end(), 4000);
  EXPECT_EQ(find(trace, 22).ts, 6000);
  EXPECT_EQ(find(trace, 24).ts, 7000);
  EXPECT_EQ(find(trace, 23).ts, 9000);
  EXPECT_EQ(find(trace, 23).end(), 15000);
  EXPECT_EQ(find(trace, 25).ts, 10000);
  EXPECT_EQ(find(trace, 25).end(), 15000);
  EXPECT_EQ(find(trace, 25).args["queued_us"], 0.0);
  // gather's op is at 14, but labels (op at 21) come first on that lane, so 22 to 23;
  // grad_scatter 24 to 25; kernel 29 from 27 to 35, kernel 30 from 30 to 37; reduce 37
  // to 38; the loss is read 42 to 43, after its op; the sync ends 1 µs later, as
  // recorded.
  EXPECT_EQ(find(trace, 27).ts, 22000);
  EXPECT_EQ(find(trace, 30).end(), 37000);
  EXPECT_EQ(find(trace, 31).ts, 37000) << "a mark moves with its kernel";
  EXPECT_EQ(find(trace, 32).ts, 37000);
  EXPECT_EQ(find(trace, 33).ts, 42000);
  EXPECT_EQ(find(trace, 17).end(), 44000);
  EXPECT_EQ(find(trace, 16).end(), 45000) << "host time after the wait is kept";
  EXPECT_EQ(find(trace, 1).end(), 49000);
}

/// Op 1 enqueues kernel 3, 10 µs of CPU; the host waits for it (2), then calls (4) a
/// thread, which waits (5) for kernel 9 of a third thread and goes on (6).
Trace waits_then_calls() {
  return parse_trace(R"([
    {"ph":"X","cat":"op","tid":0,"ts":0,"dur":1,"args":{"id":1}},
    {"ph":"X","cat":"sync","tid":0,"ts":2,"dur":88,"args":{"id":2,"for":[3]}},
    {"ph":"X","cat":"kernel","pid":1,"ts":5,"dur":80,
     "args":{"id":3,"op":1,"cpu_us":10,"device":0}},
    {"ph":"X","cat":"op","tid":2,"ts":60,"dur":1,"args":{"id":8}},
    {"ph":"X","cat":"kernel","pid":1,"ts":85,"dur":2,"args":{"id":9,"op":8,"device":0}},
    {"ph":"i","cat":"mark","name":"grad_ready","pid":1,"ts":85,"args":{"id":7,"by":3}},
    {"ph":"X","cat":"call","tid":0,"ts":92,"dur":28,"args":{"id":4}},
    {"ph":"X","cat":"sync","tid":1,"ts":100,"dur":5,
     "args":{"id":5,"parent":4,"for":[9]}},
    {"ph":"X","cat":"op","tid":1,"ts":107,"dur":1,"args":{"id":6,"parent":4}},
    {"ph":"C","name":"memory","pid":1,"ts":110,"args":{"inputs":1}}])",
                     "by hand");
}

// Kernel 3 runs 0 to 10 instead of 5 to 85; waking up took 5, so the wait ends at 15
// instead of 90, and what follows comes 75 earlier. Kernel 9 cannot start before its op
// at 60; its waiter wakes up 5 later than 62, and goes on after 2 more.
TEST(Emulate, AThreadMovesWithItsCallerAndThenByItself) {
  const Trace trace = emulate(waits_then_calls());
  EXPECT_EQ(find(trace, 3).end(), 10'000);
  EXPECT_EQ(find(trace, 2).end(), 15'000);
  EXPECT_EQ(find(trace, 4).ts, 17'000);
  EXPECT_EQ(find(trace, 5).ts, 25'000);
  EXPECT_EQ(find(trace, 9).ts, 60'000);
  EXPECT_EQ(find(trace, 5).end(), 67'000);
  EXPECT_EQ(find(trace, 6).ts, 69'000);
  EXPECT_EQ(find(trace, 7).ts, 10'000) << "a mark moves with the kernel that caused it";
  const auto memory = std::find_if(trace.events.begin(), trace.events.end(),
                                   [](const Event& event) { return event.ph == 'C'; });
  EXPECT_EQ(memory->ts, 72'000) << "a counter moves with the host";
}

/// Two steps (1, 2) of 40 µs that wait for a kernel of 30, which needs 10 of CPU. A
/// worker makes the batch of the second one (7) 35 µs before it is asked for, as soon
/// as the first has been taken (5), and one more (9) when the second is (6).
Trace loads_ahead() {
  return parse_trace(R"([
    {"ph":"X","cat":"phase","name":"step","ts":0,"dur":40,"args":{"id":1,"step":0}},
    {"ph":"X","cat":"phase","name":"data","ts":0,"dur":2,"args":{"id":5,"step":0}},
    {"ph":"X","cat":"call","name":"_MapDatasetFetcher.fetch","tid":1,"ts":3,"dur":4,
     "args":{"id":7,"step":1,"batch":1,"after":5}},
    {"ph":"X","cat":"op","ts":4,"dur":1,"args":{"id":3,"step":0}},
    {"ph":"X","cat":"kernel","pid":1,"ts":5,"dur":30,
     "args":{"id":4,"step":0,"op":3,"cpu_us":10,"device":0}},
    {"ph":"X","cat":"sync","ts":6,"dur":30,"args":{"id":8,"step":0,"for":[4]}},
    {"ph":"X","cat":"phase","name":"step","ts":41,"dur":4,"args":{"id":2,"step":1}},
    {"ph":"X","cat":"phase","name":"data","ts":41,"dur":3,"args":{"id":6,"step":1}},
    {"ph":"X","cat":"sync","ts":42,"dur":1,"args":{"id":10,"step":1,"for":[7]}},
    {"ph":"X","cat":"call","name":"_MapDatasetFetcher.fetch","tid":1,"ts":44,"dur":4,
     "args":{"id":9,"step":1,"batch":2,"after":6}}])",
                     "by hand");
}

// The kernel runs 4 to 14, so the second step begins at 20 instead of 41; the worker's
// idle time between its batches shrinks with it.
TEST(Emulate, ALoadersWorkerKeepsPaceWithTheSteps) {
  const Trace trace = loads_ahead();
  const Trace fast = emulate(trace);
  EXPECT_EQ(find(fast, 4).end(), 14'000);
  EXPECT_EQ(find(fast, 2).ts, 20'000);
  EXPECT_EQ(find(fast, 7).ts, 3'000);
  EXPECT_EQ(find(fast, 9).ts, 23'000) << "1 µs after the batch was taken, as recorded";
  EXPECT_EQ(find_steps(fast).at(1).length(), 4'000) << "batch 2 is none of its time";
  EXPECT_EQ(longest_path(fast, find_steps(fast).at(1)).path, 3'000) << "less waking up";
}

// The worker was at work until 44, so it went on by itself; with a kernel of 80 it may
// not, since there is no room before the second step begins to take its batch.
TEST(Emulate, AWorkerThatIsAheadWaitsForRoom) {
  Trace trace = loads_ahead();
  for (Event& event : trace.events) {
    if (event.id == 4) event.args["cpu_us"] = 80;
    if (event.id == 7) {
      event.ts = 39'500, event.dur = 4'500;
      event.args.erase("after");  // nobody knows what this one waited for
    }
    if (event.id == 10) event.waits_for = {};
  }
  sort_events(trace.events);
  const Trace slow = emulate(trace);
  EXPECT_EQ(find(slow, 4).end(), 84'000);
  EXPECT_EQ(find(slow, 6).ts, 90'000);
  EXPECT_EQ(find(slow, 9).ts, 90'000);
}

TEST(Emulate, ABatchIsNotTakenBeforeItIsMade) {
  Trace trace = loads_ahead();
  for (Event& event : trace.events) {
    if (event.id == 7) event.dur = 36'000;  // until 39
  }
  const Trace fast = emulate(trace);
  EXPECT_EQ(find(fast, 10).ts, 21'000);
  EXPECT_EQ(find(fast, 10).end(), 40'000) << "made at 39; woken 1 µs later";
  EXPECT_EQ(find(fast, 9).ts, 41'000);
}

TEST(Emulate, ACopyLastsWhatTheLinkSays) {
  const EmulateOptions options{.link = {.gb_per_s = 0.001, .latency_us = 2}};
  const Trace trace = emulate(read_trace(minimal_path()), options);
  EXPECT_EQ(find(trace, 20).dur, 2000 + 40'000);  // 40 B at 1 MB/s
}

TEST(Emulate, RefusesAnImpossibleLink) {
  const Trace trace = read_trace(minimal_path());
  EXPECT_THROW(emulate(trace, {.link = {.gb_per_s = 0}}), std::runtime_error);
  EXPECT_THROW(emulate(trace, {.link = {.latency_us = -1}}), std::runtime_error);
}

TEST(Emulate, RefusesEventsThatWaitForThemselves) {
  Trace trace = read_trace(minimal_path());
  for (Event& event : trace.events) {
    if (event.id == 23) event.deps = {25};
    if (event.id == 25) event.deps = {23};
  }
  EXPECT_THROW(emulate(trace), std::runtime_error);
}

TEST(LongestPath, ReproducesTheMeasuredStep) {
  const Trace trace = read_trace(minimal_path());
  const std::vector<Step> steps = find_steps(trace);
  const LongestPath path = longest_path(trace, steps.at(0));
  EXPECT_EQ(path.measured, 95'000);
  // The waits that no edge explains, by hand: kernel 30 started 0.5 µs late beyond its
  // queueing of 1 µs less …; all of them together are a few µs.
  EXPECT_NEAR(path.ratio(), 1.0, 0.12);
  int64_t sum = 0;
  for (const PathPiece& piece : path.pieces) sum += piece.nanoseconds;
  EXPECT_EQ(sum, path.path);
}

TEST(LongestPath, AMissingEdgeMakesItTooShort) {
  Trace trace = read_trace(minimal_path());
  for (Event& event : trace.events) {
    if (event.is("sync")) event.waits_for.clear();
    if (event.id == 33) event.deps.clear();
  }
  const std::vector<Step> steps = find_steps(trace);
  const double without = longest_path(trace, steps.at(0)).ratio();
  Trace whole = read_trace(minimal_path());
  EXPECT_NE(without, longest_path(whole, find_steps(whole).at(0)).ratio());
}

}  // namespace
}  // namespace lockstep::tracer
