// Kernels take longer while another device of the machine computes.
#include "tracer/emulate/contention.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/tracer/golden.h"
#include "tracer/emulate/construct/construct.h"
#include "tracer/emulate/emulate.h"
#include "tracer/format/facts.h"
#include "tracer/format/index.h"

namespace lockstep::tracer {
namespace {

std::string profile_with(const std::string& further) {
  return R"({"name": "here", "description": "d", "source": "s",
             "links": {"l": {"class": "pcie", "gb_per_s": 5, "latency_us": 5,
                             "source": "s"}},
             "machine": {"devices": 4, "wires": [
               {"from": ["gpu*"], "to": ["switch0"], "link": "l"},
               {"from": ["switch0"], "to": ["host"], "link": "l"}]})" +
         further + "}";
}

const Hardware& shared_machine() {
  static const Hardware hardware =
      parse_hardware(profile_with(R"(, "contention": {"slowdown": 1.25, "source": "s",
                      "by_operation": {"aten::conv2d": 2}})"),
                     "here.json");
  return hardware;
}

const Trace& contended_recording() {
  static const Trace recorded =
      read_trace(std::string(LOCKSTEP_SOURCE_DIR) + "/lessons/01-tape/trace.json.gz");
  return recorded;
}

Trace on_shared_machine(const char* mode, int devices, double interference = 1) {
  ConstructedProgram program;
  program.mode = mode;
  program.devices = devices;
  EmulateOptions options;
  options.hardware = &shared_machine();
  options.interference = interference;
  return emulate(construct(contended_recording(), program), options);
}

using TimeSpan = std::pair<int64_t, int64_t>;

/// Returns the times in which at least two devices compute.
std::vector<TimeSpan> contended_times(const Trace& trace) {
  std::vector<std::pair<int64_t, int>> changes;
  for (const Event& event : trace.events) {
    if (!event.is(categories::kernel)) continue;
    changes.emplace_back(event.ts, 1);
    changes.emplace_back(event.end(), -1);
  }
  std::ranges::sort(changes);
  std::vector<TimeSpan> spans;
  int computing = 0;
  for (size_t i = 0; i < changes.size(); ++i) {
    if (computing > 1) spans.emplace_back(changes[i - 1].first, changes[i].first);
    computing += changes[i].second;
  }
  return spans;
}

int64_t common(const Event& event, const std::vector<TimeSpan>& spans) {
  int64_t sum = 0;
  for (const auto& [begin, end] : spans) {
    sum += std::max<int64_t>(0, std::min(end, event.end()) - std::max(begin, event.ts));
  }
  return sum;
}

std::vector<TimeSpan> collective_spans(const Trace& trace, int64_t pid) {
  std::vector<TimeSpan> spans;
  for (const Event& event : trace.events) {
    if (event.is(categories::collective) && event.pid == pid) {
      spans.emplace_back(event.ts, event.end());
    }
  }
  return spans;
}

// Work that a kernel does in its time, at the speeds of its parts, is its CPU time. A
// device of these programs runs one kernel and one collective at a time.
void expect_the_work_is_done(const Trace& trace, double interference) {
  const Index index(trace);
  const std::vector<TimeSpan> contended = contended_times(trace);
  int slowed = 0;
  for (const Event& kernel : trace.events) {
    if (!kernel.is(categories::kernel)) continue;
    const Event* op = index.find(kernel.op);
    const bool conv = op != nullptr && op->name == "aten::conv2d";
    const double others = 1 - 1 / (conv ? 2.0 : 1.25), own = 1 - 1 / interference;
    double both = 0, in_flight = 0;
    for (const TimeSpan& span : collective_spans(trace, kernel.pid)) {
      in_flight += static_cast<double>(common(kernel, {span}));
      for (const auto& [begin, end] : contended) {
        const TimeSpan part{std::max(begin, span.first), std::min(end, span.second)};
        if (part.first < part.second)
          both += static_cast<double>(common(kernel, {part}));
      }
    }
    const auto with_others = static_cast<double>(common(kernel, contended));
    const double done = static_cast<double>(kernel.dur) - own * in_flight -
                        others * with_others + own * others * both;
    ASSERT_NEAR(done, static_cast<double>(kernel_facts(kernel).cpu), 3) << kernel.name;
    slowed += with_others > 0 ? 1 : 0;
  }
  EXPECT_GT(slowed, 100);
}

TEST(Contention, SlowsKernelsWhileAnotherDeviceComputes) {
  expect_the_work_is_done(on_shared_machine("dp", 2), 1);
  expect_the_work_is_done(on_shared_machine("ddp", 3), 1);
}

TEST(Contention, IsMultipliedWithInterference) {
  expect_the_work_is_done(on_shared_machine("ddp", 2, 1.5), 1.5);
}

TEST(Contention, OneDeviceHasNone) {
  const Trace trace = on_shared_machine("ddp", 1);
  for (const Event& event : trace.events) {
    if (!event.is(categories::kernel)) continue;
    EXPECT_EQ(event.dur, kernel_facts(event).cpu) << event.name;
  }
}

// What several devices recorded has it in its times already.
TEST(Contention, IsNotAddedToARecording) {
  Trace recorded = on_shared_machine("ddp", 2);
  recorded.lockstep.erase(top::constructed);
  EmulateOptions options;
  options.hardware = &shared_machine();
  const Trace again = emulate(recorded, options);
  for (const Event& event : again.events) {
    if (!event.is(categories::kernel)) continue;
    EXPECT_EQ(event.dur, kernel_facts(event).cpu) << event.name;
  }
  const std::string assumed = again.lockstep[top::emulation]["assumed"];
  EXPECT_EQ(assumed.find("another device"), assumed.npos);
}

TEST(Contention, IsToldAmongTheAssumptions) {
  const std::string assumed =
      on_shared_machine("ddp", 2).lockstep[top::emulation]["assumed"];
  EXPECT_NE(assumed.find("while another device computes, the kernels of each operation "
                         "take as many times as long as here says: 1.25 times on "
                         "average"),
            assumed.npos)
      << assumed;
}

// Of a sweep's programs there is no trace that could tell.
TEST(Contention, IsToldOfAllProgramsOfARecording) {
  EmulateOptions options;
  options.hardware = &shared_machine();
  const std::string assumed = assumptions_from(contended_recording(), options);
  EXPECT_NE(assumed.find("while another device computes"), assumed.npos) << assumed;
  EXPECT_NE(assumed.find("its CPU time"), assumed.npos) << assumed;
  Trace on_gpu = contended_recording();
  on_gpu.lockstep[top::devices][0]["name"] = "cuda:0 on GPU 0";
  options.hardware = nullptr;
  const std::string of_gpu = assumptions_from(on_gpu, options);
  EXPECT_EQ(of_gpu.find("while another device computes"), of_gpu.npos) << of_gpu;
  EXPECT_NE(of_gpu.find("its GPU time"), of_gpu.npos) << of_gpu;
}

TEST(Contention, AProfileWithoutSenseIsRefused) {
  const auto why = [](const std::string& further) -> std::string {
    try {
      parse_hardware(profile_with(further), "here.json");
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(why(R"(, "contention": 3)").find("`contention` is not an object"),
            std::string::npos);
  EXPECT_NE(why(R"(, "contention": {"slowdown": 0.5, "source": "s",
                    "by_operation": {}})")
                .find("`slowdown` is not from 1 to 100"),
            std::string::npos);
  EXPECT_NE(why(R"(, "contention": {"slowdown": 2, "source": "s",
                    "by_operation": {"aten::add": 0}})")
                .find("`by_operation` has no number `aten::add`"),
            std::string::npos);
  EXPECT_NE(why(R"(, "network": {"from": "switch0", "link": "l"},
                    "contention": {"slowdown": 2, "source": "s", "by_operation": {}})")
                .find("`contention` is of one machine"),
            std::string::npos);
  for (const char* memory :
       {"3", R"({"gb_per_s": 3, "source": "s"})",
        R"({"gb_per_s": {"reduce add": 0}, "source": "s"})", R"({"gb_per_s": {}})"}) {
    EXPECT_NE(why(std::string(R"(, "memory": )") + memory).find("`memory`"),
              std::string::npos)
        << memory << ": " << why(std::string(R"(, "memory": )") + memory);
  }
}

}  // namespace
}  // namespace lockstep::tracer
