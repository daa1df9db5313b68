// A rank that `--slow-rank` made slow stays slow on the emulated clock.
#include "tracer/emulate/slow_ranks.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/tracer/golden.h"
#include "tracer/emulate/emulate.h"
#include "tracer/emulate/hardware/hardware.h"

namespace lockstep::tracer {
namespace {

/// A rank that is slow on purpose: in its steps, kernels with 40 and 10 µs of CPU time
/// together, then one that waits. Another stream computes for longer.
Trace slow_rank(const std::string& slowness) {
  return parse_trace(fmt::format(R"([
    {{"ph":"X","cat":"op","name":"enqueue","ts":0,"dur":1,"args":{{"id":1}}}},
    {{"ph":"X","cat":"kernel","name":"other","pid":2,"ts":1,"dur":600,
     "args":{{"id":2,"op":1,"step":0,"cpu_us":500,"device":1}}}},
    {{"ph":"X","cat":"kernel","name":"forward","pid":1,"ts":1,"dur":20,
     "args":{{"id":3,"op":1,"step":0,"cpu_us":10,"device":0}}}},
    {{"ph":"X","cat":"kernel","name":"backward","pid":1,"ts":21,"dur":30,
     "args":{{"id":4,"op":1,"step":0,"cpu_us":30,"device":0}}}},
    {{"ph":"X","cat":"kernel","name":"lockstep::emulated_work","pid":1,"ts":60,
     "dur":120,"args":{{"id":5,"op":1,"step":0,"cpu_us":2,"device":0{0}}}}},
    {{"ph":"X","cat":"kernel","name":"forward","pid":1,"ts":200,"dur":20,
     "args":{{"id":6,"op":1,"step":1,"cpu_us":10,"device":0}}}},
    {{"ph":"X","cat":"kernel","name":"lockstep::emulated_work","pid":1,"ts":220,
     "dur":60,"args":{{"id":7,"op":1,"step":1,"cpu_us":2,"device":0{0}}}}}])",
                                 slowness),
                     "by hand");
}

std::vector<int64_t> times_of_emulated_work(const Trace& trace) {
  std::vector<int64_t> times;
  for (const Event& event : trace.events) {
    if (event.name == names::emulated_work) times.push_back(event.dur);
  }
  return times;
}

TEST(SlowRanks, StayAsManyTimesAsSlow) {
  using Times = std::vector<int64_t>;
  const Trace recorded = slow_rank(R"(,"slowness":3)");
  const Trace emulated = emulate(recorded);
  EXPECT_EQ(times_of_emulated_work(emulated), (Times{80'000, 20'000}));
  EXPECT_EQ(times_of_emulated_work(emulate(emulated)), (Times{80'000, 20'000}));
  EXPECT_EQ(times_of_emulated_work(emulate(recorded, {.compute_scale = 2})),
            (Times{40'000, 10'000}));
  Hardware profile{.name = "two devices", .description = "a test", .source = "a test"};
  profile.kinds = {{"link", "a test", LinkClass::pcie, 10, 5}};
  profile.devices = 2;
  profile.wires = {{"host", "switch", 0}, {"gpu0", "switch", 0}, {"gpu1", "switch", 0}};
  EXPECT_EQ(times_of_emulated_work(emulate(recorded, {.hardware = &profile})),
            (Times{80'000, 20'000}));
  const std::string assumed = emulated.lockstep[top::emulation]["assumed"];
  EXPECT_NE(assumed.find("(FACTOR - 1) times"), assumed.npos) << assumed;
}

TEST(SlowRanks, OfUnknownFactorAreAsSlowAsRecorded) {
  for (const char* slowness : {"", R"(,"slowness":0.5)", R"(,"slowness":"3x")"}) {
    const Trace emulated = emulate(slow_rank(slowness));
    EXPECT_EQ(times_of_emulated_work(emulated),
              (std::vector<int64_t>{120'000, 60'000}));
    const std::string assumed = emulated.lockstep[top::emulation]["assumed"];
    EXPECT_NE(assumed.find("as long as recorded"), assumed.npos) << assumed;
  }
}

}  // namespace
}  // namespace lockstep::tracer
