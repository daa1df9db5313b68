// DataParallelModel with DataParallelCriterion, constructed from one device's step.
#include <gtest/gtest.h>

#include <map>

#include "tests/tracer/golden.h"
#include "tracer/analysis/check.h"
#include "tracer/emulate/construct/construct.h"
#include "tracer/emulate/emulate.h"
#include "tracer/emulate/hardware/hardware.h"
#include "tracer/format/facts.h"

namespace lockstep::tracer {
namespace {

/// A training step of ResNet18 for CIFAR-10 with 8 images on each device.
Trace criterion_on(int devices, const Hardware* hardware = nullptr) {
  static const Trace recorded =
      read_trace(std::string(LOCKSTEP_SOURCE_DIR) + "/lessons/01-tape/trace.json.gz");
  ConstructedProgram program;
  program.mode = "dp-criterion";
  program.devices = devices;
  program.hardware = hardware;
  EmulateOptions options;
  options.hardware = hardware;
  return emulate(construct(recorded, program), options);
}

TEST(ConstructCriterion, ObeysEveryLaw) {
  for (const int devices : {1, 2, 3, 8}) {
    for (const Finding& finding : check_trace(criterion_on(devices)).findings) {
      EXPECT_TRUE(finding.ok) << devices << ": " << finding.law << ": "
                              << finding.message;
    }
  }
}

// As DataParallel, but nothing is gathered: 32 labels of 8 B, and per further device a
// loss, its gradient and two accuracies of 4 B.
TEST(ConstructCriterion, MovesTheBytesOfTheLedger) {
  std::map<std::string, int64_t> bytes;
  for (const Event& event : criterion_on(4).events) {
    if (!event.is(categories::copy)) continue;
    const CopyFacts copy = copy_facts(event);
    bytes[std::string(copy.why)] += copy.bytes;
  }
  const std::map<std::string, int64_t> expected{{"targets", 4 * 64},
                                                {"scatter", 4 * 98'304},
                                                {"replicate", 3 * 44'734'408},
                                                {"reduce", 3 * 44'695'848},
                                                {"loss", 12},
                                                {"loss_grad", 12},
                                                {"metrics", 24},
                                                {"d2h", 12}};
  EXPECT_EQ(bytes, expected);
}

TEST(ConstructCriterion, IsReproducedFromItsOwnDurations) {
  const Trace once = criterion_on(3);
  EmulateOptions same;
  same.measured_durations = true;
  const Trace twice = emulate(once, same);
  ASSERT_EQ(once.events.size(), twice.events.size());
  for (size_t i = 0; i < once.events.size(); ++i) {
    EXPECT_EQ(once.events[i].ts, twice.events[i].ts) << once.events[i].name;
    EXPECT_EQ(once.events[i].dur, twice.events[i].dur) << once.events[i].name;
  }
}

TEST(ConstructCriterion, SaysWhatItAssumes) {
  const std::string assumed = criterion_on(2).lockstep[top::emulation]["assumed"];
  EXPECT_NE(assumed.find("each replica repeats the step's forward pass, loss and "
                         "backward pass"),
            assumed.npos)
      << assumed;
}

}  // namespace
}  // namespace lockstep::tracer
