// Kernels slow down while a collective of their device is in flight, and work on two
// streams overlaps as in PyTorch's tests of FSDP2.
#include "tracer/emulate/interference.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/tracer/golden.h"
#include "tracer/analysis/steps.h"
#include "tracer/emulate/construct/construct.h"
#include "tracer/emulate/emulate.h"
#include "tracer/emulate/hardware/hardware.h"
#include "tracer/format/facts.h"

namespace lockstep::tracer {
namespace {

const Trace& ddp_on_four() {
  static const Trace recorded =
      read_trace(std::string(LOCKSTEP_SOURCE_DIR) + "/lessons/01-tape/trace.json.gz");
  static const Trace program = [] {
    ConstructedProgram ddp;
    ddp.devices = 4;
    return construct(recorded, ddp);
  }();
  return program;
}

Trace with_interference(double slowdown, const Hardware* hardware = nullptr) {
  EmulateOptions options;
  options.link = {1, 10};
  options.hardware = hardware;
  options.interference = slowdown;
  return emulate(ddp_on_four(), options);
}

int64_t step_of(const Trace& trace) {
  return join_ranks(find_steps(trace)).at(0).length();
}

/// Returns the time of a kernel in which collectives of its device are in flight.
int64_t overlap(const Trace& trace, const Event& kernel) {
  int64_t sum = 0;
  for (const Event& event : trace.events) {
    if (!event.is(categories::collective) || event.pid != kernel.pid) continue;
    const int64_t begin = std::max(event.ts, kernel.ts);
    sum += std::max<int64_t>(0, std::min(event.end(), kernel.end()) - begin);
  }
  return sum;
}

// Without the time that collectives cost, each kernel takes what it takes alone.
void expect_kernels_slowed(const Trace& trace, double slowdown) {
  int slowed = 0;
  for (const Event& event : trace.events) {
    if (!event.is(categories::kernel)) continue;
    const double lost = (1 - 1 / slowdown) * static_cast<double>(overlap(trace, event));
    EXPECT_NEAR(static_cast<double>(event.dur) - lost,
                static_cast<double>(kernel_facts(event).cpu), 2)
        << event.name;
    slowed += lost > 0 ? 1 : 0;
  }
  EXPECT_GT(slowed, 20);
}

TEST(Interference, SlowsWhatRunsDuringCollectives) {
  expect_kernels_slowed(with_interference(1.5), 1.5);
  expect_kernels_slowed(with_interference(4), 4);
}

TEST(Interference, SlowsOnSharedLinksToo) {
  const Hardware star = parse_hardware(
      R"({"name": "n", "description": "d", "source": "s",
          "links": {"l": {"class": "pcie", "gb_per_s": 1, "latency_us": 5,
                          "source": "s"}},
          "machine": {"devices": 4, "wires": [
            {"from": ["gpu*"], "to": ["switch0"], "link": "l"},
            {"from": ["switch0"], "to": ["host"], "link": "l"}]},
          "interference": {"slowdown": 1.5, "source": "s"}})",
      "test.json");
  EXPECT_EQ(star.interference, 1.5);
  expect_kernels_slowed(with_interference(1.5, &star), 1.5);
}

TEST(Interference, StepsGrowWithItAndOneChangesNothing) {
  int64_t before = 0;
  for (const double slowdown : {1.0, 1.05, 1.5, 3.0}) {
    const int64_t now = step_of(with_interference(slowdown));
    EXPECT_GE(now, before) << slowdown;
    before = now;
  }
  EXPECT_LE(before, 3 * step_of(with_interference(1)));
  const std::string assumed =
      with_interference(1.05).lockstep[top::emulation]["assumed"];
  EXPECT_NE(assumed.find("1.05 times as long while a collective is in flight"),
            assumed.npos);
  EXPECT_THROW(with_interference(0.9), std::runtime_error);
}

/// A device with a compute and a comm stream, and a host that launches all at once.
class TwoStreams {
 public:
  /// `ms`: how long it takes. Returns the task's id.
  int64_t compute(double ms, IdList deps = {}) { return add("kernel", 0, ms, deps); }
  int64_t collective(double ms, IdList deps = {}) {
    return add("collective", 2, ms, deps);
  }

  /// Returns when the last task ends, in ms.
  double run() {
    std::ranges::stable_sort(trace_.events, {}, [](const Event& e) { return e.ts; });
    const Trace emulated = emulate(trace_);
    int64_t end = 0;
    for (const Event& event : emulated.events) end = std::max(end, event.end());
    return static_cast<double>(end - emulated.events[0].ts) / 1e6;
  }

 private:
  int64_t add(const char* cat, int64_t stream, double ms, const IdList& deps) {
    Event& task = trace_.events.emplace_back();
    task.cat = cat;
    task.name = cat;
    task.pid = 1;
    task.tid = stream;
    task.id = static_cast<int64_t>(trace_.events.size());
    task.deps = deps;
    task.ts = at_;  // only the order counts
    task.dur = static_cast<int64_t>(ms * 1e6);
    at_ += task.dur;
    task.args = Json{{keys::rank, 0}, {keys::device, 0}, {keys::stream, stream}};
    return task.id;
  }

  Trace trace_;
  int64_t at_ = 0;
};

constexpr double kCompute = 25, kComm = 10;  // ms, of PyTorch's test

// torch/testing: test_fully_shard_overlap.py, `test_fully_shard_training_overlap`:
// three layers. Parameters are gathered one layer ahead; gradients are scattered on the
// same stream. 85 ms forward and 170 ms backward; 105 and 210 without overlap.
double forward_of_three_layers(bool overlaps) {
  TwoStreams device;
  IdList before;
  for (int layer = 0; layer < 3; ++layer) {
    const int64_t gathered = device.collective(kComm, overlaps ? IdList() : before);
    before = {device.compute(kCompute, {gathered})};
  }
  return device.run();
}

double backward_of_three_layers(bool overlaps) {
  TwoStreams device;
  IdList before;  // without overlap
  const auto next = [&](int64_t id) {
    if (!overlaps) before = {id};
    return id;
  };
  // unshard 2, unshard 1, post 2, unshard 0, post 1, post 0
  if (!overlaps) {
    for (int layer = 0; layer < 3; ++layer) {
      const int64_t gathered = next(device.collective(kComm, before));
      const int64_t computed = next(device.compute(2 * kCompute, {gathered}));
      next(device.collective(kComm, {computed}));
    }
    return device.run();
  }
  int64_t gathered = device.collective(kComm), computed = 0;
  for (int layer = 2; layer >= 0; --layer) {
    const int64_t mine = gathered;
    if (layer > 0) gathered = device.collective(kComm);
    if (computed != 0) device.collective(kComm, {computed});
    computed = device.compute(2 * kCompute, {mine});
  }
  device.collective(kComm, {computed});
  return device.run();
}

TEST(TwoStreams, OverlapAsInPyTorchsTest) {
  EXPECT_NEAR(forward_of_three_layers(true), 85, 0.01);
  EXPECT_NEAR(forward_of_three_layers(false), 105, 0.01);
  EXPECT_NEAR(backward_of_three_layers(true), 170, 0.01);
  EXPECT_NEAR(backward_of_three_layers(false), 210, 0.01);
}

}  // namespace
}  // namespace lockstep::tracer
