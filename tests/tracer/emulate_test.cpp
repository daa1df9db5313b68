// The emulator: with measured durations it returns what was measured, to the
// nanosecond; with hardware of its own it keeps every dependency.
#include "tracer/emulate/emulate.h"

#include "tests/tracer/golden.h"
#include "tracer/analysis/check.h"
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
