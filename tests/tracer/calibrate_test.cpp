// A profile of a machine from its traces: what was put into an emulated machine is
// found again.
#include "tracer/emulate/hardware/calibrate.h"

#include <gtest/gtest.h>

#include "tracer/emulate/construct/construct.h"
#include "tracer/emulate/emulate.h"
#include "tracer/format/facts.h"

namespace lockstep::tracer {
namespace {

/// A training step of ResNet18 for CIFAR-10 on one device.
const Trace& calibrated_step() {
  static const Trace trace =
      read_trace(std::string(LOCKSTEP_SOURCE_DIR) + "/lessons/01-tape/trace.json.gz");
  return trace;
}

/// A machine with links of `link`, whose host takes 40 µs per parameter and further
/// replica and 15 µs per parameter; devices pack 7 and 9 GB/s,
/// and add 30 GB/s.
Trace dp_with(int devices, const Link& link) {
  static const Hardware hardware = [] {
    Hardware made;
    made.name = "made";
    made.host = {40, 15, false, "made up"};
    made.memory = {
        {{"replicate flatten_many", 7}, {"reduce flatten_many", 9}, {"reduce add", 30}},
        "made up"};
    return made;
  }();
  ConstructedProgram program;
  program.mode = "dp";
  program.devices = devices;
  program.hardware = &hardware;
  EmulateOptions options;
  options.link = link;
  return emulate(construct(calibrated_step(), program), options);
}

/// Two ranks of DistributedDataParallel on a machine with contention.
Trace ddp_with(const Contention& contention) {
  Hardware hardware = parse_hardware(
      R"({"name": "made", "description": "d", "source": "s",
          "links": {"l": {"class": "pcie", "gb_per_s": 5, "latency_us": 25,
                          "source": "s"}},
          "machine": {"devices": 2, "wires": [
            {"from": ["gpu*"], "to": ["host"], "link": "l"}]}})",
      "made.json");
  hardware.contention = contention;
  ConstructedProgram program;
  program.devices = 2;
  EmulateOptions options;
  options.hardware = &hardware;
  Trace trace = emulate(construct(calibrated_step(), program), options);
  trace.lockstep[top::clock] = values::measured;
  return trace;
}

TEST(Calibrate, FindsTheLineOfCopies) {
  std::vector<CopyTime> copies;
  for (const int64_t bytes : {0, 1'000, 50'000, 4'000'000}) {
    for (const int64_t noise : {-20, 0, 0, 0, 900}) {  // the median is exact
      copies.push_back({bytes, 2'000 + bytes / 10 + noise});
    }
  }
  const FittedLink link = fit_link(copies, "test");
  EXPECT_NEAR(link.latency_us, 2, 1e-9);
  EXPECT_NEAR(link.gb_per_s, 10, 1e-9);
  EXPECT_EQ(link.copies, 20u);
  EXPECT_NEAR(link.error, 0, 1e-12);
  // A negative latency would be nonsense: then the line begins at 0.
  EXPECT_EQ(fit_link({{1'000, 10}, {2'000, 1'000}}, "test").latency_us, 0);
  EXPECT_THROW(fit_link({{8, 100}, {8, 120}}, "test"), std::runtime_error);
  EXPECT_THROW(fit_link({{8, 100}, {16, 50}}, "test"), std::runtime_error);
}

/// Adds to each copy of the reduction four slower ones at the same time.
Trace with_copies_at_once(Trace trace) {
  std::vector<Event> added;
  for (const Event& event : trace.events) {
    if (!event.is(categories::copy)) continue;
    if (copy_facts(event).why != reasons::reduce) continue;
    for (int i = 0; i < 4; ++i) added.push_back(event);
    for (int i = 1; i <= 4; ++i) added[added.size() - i].dur *= 3;
  }
  for (Event& event : added) trace.events.push_back(std::move(event));
  return trace;
}

TEST(Calibrate, FindsWhatAnEmulatedMachineHas) {
  const Link link{5, 25};  // GB/s, µs
  Trace one = emulate(construct_single(calibrated_step()), {.link = link});
  one.lockstep[top::clock] = values::measured;  // by the emulated machine
  const Contention contention{1.25, {{"aten::conv2d", 1.5}}, "made up"};
  std::vector<Trace> alone, together;
  alone.push_back(std::move(one));
  together.push_back(ddp_with(contention));
  const Calibration found =
      calibrate({std::move(alone), with_copies_at_once(dp_with(2, link)),
                 dp_with(3, link), std::move(together)});
  EXPECT_EQ(found.arch, "resnet18");
  EXPECT_EQ(found.batch, 8);
  EXPECT_EQ(found.parameters, 62u);
  for (const FittedLink& fitted : {found.host_link, found.device_link}) {
    EXPECT_NEAR(fitted.gb_per_s, 5, 0.01);
    EXPECT_NEAR(fitted.latency_us, 25, 0.05);
  }
  EXPECT_NEAR(found.replica_us_per_parameter, 40, 0.1);
  // And the constructed program's launches that are in no operation.
  EXPECT_NEAR(found.replicate_us_per_parameter, 15, 2);
  EXPECT_GT(found.launch_us, 0);
  EXPECT_GT(found.module_us, 0);
  EXPECT_LT(found.module_us, found.launch_us);  // a call does less than a launch
  double kernels = 0, in_trace = 0;
  for (const auto& [phase, ms] : found.device_ms) kernels += ms;
  for (const Event& event : construct_single(calibrated_step()).events) {
    if (!event.is(categories::kernel)) continue;
    in_trace += static_cast<double>(kernel_facts(event).cpu) / 1e6;
  }
  EXPECT_NEAR(kernels, in_trace, 1e-6 * in_trace);
  EXPECT_TRUE(found.device_ms.contains("backward"));
  // Both ranks do the same at the same time.
  EXPECT_NEAR(found.contention.by_operation.at("aten::conv2d"), 1.5, 0.01);
  EXPECT_NEAR(found.contention.by_operation.at("ConvolutionBackward0"), 1.25, 0.01);
  EXPECT_GT(found.contention.slowdown, 1.25);
  EXPECT_LT(found.contention.slowdown, 1.5);
  // The runs of DataParallel had none of it, but emulation will apply it to the rates.
  ASSERT_EQ(found.memory_gb_per_s.size(), 3u);
  const double others = found.contention.slowdown;
  EXPECT_NEAR(found.memory_gb_per_s.at("replicate flatten_many"), 7 * others, 0.01);
  EXPECT_NEAR(found.memory_gb_per_s.at("reduce flatten_many"), 9 * others, 0.01);
  const double of_add = found.contention.by_operation.at("aten::add_");
  EXPECT_NEAR(found.memory_gb_per_s.at("reduce add"), 30 * of_add, 0.05);
}

TEST(Calibrate, AProgramSaysWhichRatesItHas) {
  const std::string text = construction(dp_with(2, {5, 25}));
  EXPECT_NE(text.find("moves memory as fast as the step's own kernels, except for the "
                      "rates of made: reduce add 30 GB/s, reduce flatten_many 9 GB/s, "
                      "replicate flatten_many 7 GB/s;"),
            text.npos)
      << text;
}

// The profile is one that --hardware reads, and a copy takes on it what was measured.
TEST(Calibrate, WritesAProfile) {
  Calibration found;
  found.device_type = "cpu";
  found.host_link = {3, 8, 10, 0.1};
  found.device_link = {6, 4, 10, 0.1};
  found.replica_us_per_parameter = 1.5;
  found.memory_gb_per_s = {{"add", 30.0}};
  found.contention = {1.1, {{"aten::conv2d", 1.2}}, {}};
  const Hardware hardware =
      parse_hardware(profile_of(found, "here", 4, "measured").dump(), "here.json");
  EXPECT_EQ(hardware.name, "here");
  EXPECT_EQ(hardware.host.replica_us_per_parameter, 1.5);
  EXPECT_EQ(hardware.host.source, "measured");
  EXPECT_EQ(hardware.memory.gb_per_s.at("add"), 30);
  EXPECT_EQ(hardware.memory.source, "measured; DataParallel on two");
  ASSERT_TRUE(hardware.contention);
  EXPECT_EQ(hardware.contention->slowdown, 1.1);
  EXPECT_EQ(hardware.contention->by_operation.at("aten::conv2d"), 1.2);
  EXPECT_EQ(hardware.contention->source,
            "measured; DistributedDataParallel on two, in turns with runs on one");
  Topology topology(hardware, 4);
  EXPECT_EQ(topology.path(0, 3).latency_us, 6);
  EXPECT_EQ(topology.path(kHost, 2).latency_us, 3);
  for (const uint32_t segment : topology.path(0, 3).segments) {
    EXPECT_EQ(topology.segments()[segment].gb_per_s, 4);
  }
  EXPECT_EQ(topology.path(0, 3).segments.size(), 2u);
  EXPECT_EQ(topology.path(kHost, 2).segments.size(), 1u);
}

}  // namespace
}  // namespace lockstep::tracer
