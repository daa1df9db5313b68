// The viewer's values match those of `trace summary`.
#include "gui/model/breakdown.h"

#include <map>

#include "gui/model/details.h"
#include "tests/gui/model/valid.h"
#include "tracer/analysis/summary.h"

namespace lockstep::gui {
namespace {

using namespace test;  // NOLINT

void expect_same_phases(const Breakdown& own, const tracer::StepSummary& expected) {
  ASSERT_EQ(own.phases.size(), expected.phases.size());
  for (size_t i = 0; i < own.phases.size(); ++i) {
    const tracer::NamedPhase& phase = own.phases[i];
    const auto& [name, cost] = expected.phases[i];
    SCOPED_TRACE(name);
    EXPECT_EQ(phase.name, name);
    EXPECT_EQ(phase.cost.host, cost.host);
    EXPECT_EQ(phase.cost.device, cost.device);
    EXPECT_EQ(phase.cost.busy, cost.busy);
    EXPECT_EQ(phase.cost.cost(), cost.cost());
  }
}

void expect_same_ports(const Model& model, const tracer::StepGroup& expected) {
  std::map<int64_t, tracer::Port> ports;
  std::map<std::string, int64_t> by_why;
  for (size_t step = 0; step < model.steps.size(); ++step) {
    if (!model.steps[step].train) continue;
    for (const PortBytes& port : break_down(model, step).ports) {
      const int64_t id =
          port.device == kHostDevice ? kHostDevice : model.devices[port.device].id;
      (port.out ? ports[id].out : ports[id].in) += port.bytes;
      if (port.out) by_why[model.strings[port.why]] += port.bytes;
    }
  }
  ASSERT_EQ(ports.size(), expected.ports.size());
  for (const auto& [id, port] : expected.ports) {
    EXPECT_EQ(ports[id].in, port.in) << id;
    EXPECT_EQ(ports[id].out, port.out) << id;
  }
  EXPECT_EQ(by_why, expected.bytes_by_why);
}

void expect_same_as_summary(const std::string& path) {
  SCOPED_TRACE(path);
  const tracer::Summary summary = tracer::summarize(tracer::read_trace(path));
  const Model model = load_file(path);
  ASSERT_EQ(model.steps.size(), summary.train.steps.size() + summary.eval.steps.size());
  size_t next = 0;
  for (size_t step = 0; step < model.steps.size(); ++step) {
    if (!model.steps[step].train) continue;
    const Breakdown own = break_down(model, step);
    const tracer::StepSummary& expected = summary.train.steps.at(next++);
    EXPECT_EQ(own.length, expected.length);
    EXPECT_EQ(own.batch, expected.batch);
    expect_same_phases(own, expected);
    for (size_t d = 0; d < model.devices.size(); ++d) {
      const auto busy = expected.computing.find(model.devices[d].id);
      EXPECT_EQ(own.devices[d].computing,
                busy == expected.computing.end() ? 0 : busy->second);
    }
  }
  expect_same_ports(model, summary.train);
}

TEST(Breakdown, IsTheSummary) {
  expect_same_as_summary(minimal_path());
  for (const char* name : {"single", "dp", "dp_features", "ddp"}) {
    expect_same_as_summary(golden() / "viewer" / (std::string(name) + ".json.gz"));
  }
}

TEST(Breakdown, HowDevicesSpendTheStep) {
  const Breakdown own = break_down(load_file(minimal_path()), 0);
  ASSERT_EQ(own.devices.size(), 2u);
  // Kernels at 10.5-22 and 35-49 us; copies to or from the device at 4-8, 9-15,
  // 15.5-16.5, 22-23.5, 30.5-33.5, 34.5-37.5, 56-63 and 64-90 us.
  EXPECT_EQ(own.devices[0].computing, 25'500);
  EXPECT_EQ(own.devices[0].communicating, 51'500);
  EXPECT_EQ(own.devices[0].both, 4'500 + 1'000 + 2'500);
}

TEST(Breakdown, MeanOfEqualStepsIsTheStep) {
  const Model model = load_file(golden() / "viewer/dp.json.gz");
  ASSERT_EQ(model.steps.size(), 1u);
  const Breakdown step = break_down(model, 0), mean = mean_breakdown(model);
  EXPECT_EQ(mean.length, step.length);
  ASSERT_EQ(mean.phases.size(), step.phases.size());
  for (size_t i = 0; i < step.phases.size(); ++i) {
    EXPECT_EQ(mean.phases[i].cost.cost(), step.phases[i].cost.cost());
  }
  EXPECT_EQ(mean.ports.size(), step.ports.size());
}

}  // namespace
}  // namespace lockstep::gui
