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

/// Worker 0 makes step 3 from 0 to 100 µs, worker 1 from 200 to 260 µs; each pushes to
/// a server, whose kernel runs for 10 µs.
Model at_own_pace(const char* consistency) {
  const std::string step =
      fmt::format(R"("kind":"train","consistency":"{}","batch":)", consistency);
  auto event = [id = 0](const char* cat, const char* name, int pid, int rank, int ts,
                        int dur, const std::string& more) mutable {
    const bool task = cat == std::string("kernel");
    return fmt::format(
        R"({{"ph":"X","cat":"{}","name":"{}","pid":{},"tid":0,"ts":{},"dur":{},)"
        R"("args":{{"id":{},"step":3,"rank":{}{}{}{}}}}},)",
        cat, name, pid, ts, dur, ++id, rank,
        task ? fmt::format(R"(,"device":{},"stream":0,"phase":"optimizer")", rank) : "",
        more.empty() ? "" : ",", more);
  };
  std::string text = event("phase", "step", 0, 0, 0, 100, step + "4");
  text += event("op", "push", 0, 0, 80, 10, "");
  text += event("kernel", "sgd", 12, 2, 85, 20, R"("op":2)");
  text += event("phase", "step", 1, 1, 200, 60, step + "5");
  text += event("op", "push", 1, 1, 240, 10, "");
  text += event("kernel", "sgd", 12, 2, 245, 10, R"("op":5)");
  text.pop_back();
  return load_model(
      "made",
      R"({"lockstep":{"format":1,"clock":"measured","mode":"ps","devices":[)"
      R"({"id":0,"rank":0},{"id":1,"rank":1},{"id":2,"rank":2}]},"traceEvents":[)" +
          text + "]}");
}

TEST(Breakdown, OfRanksAtTheirOwnPaceIsOneRanksStep) {
  const Model model = at_own_pace("async");
  const Breakdown first = break_down(model, 0, 0), second = break_down(model, 0, 1);
  EXPECT_EQ(first.rank, 0);
  EXPECT_EQ(first.length, 105'000) << "until the server has made its update";
  EXPECT_EQ(first.batch, 4);
  ASSERT_EQ(first.phases.size(), 1u);
  EXPECT_EQ(first.phases[0].cost.device, 20'000);
  EXPECT_EQ(second.length, 60'000);
  EXPECT_EQ(second.batch, 5);
  EXPECT_EQ(second.phases[0].cost.device, 10'000);
  EXPECT_EQ(mean_breakdown(model, 1).length, 60'000);
  EXPECT_EQ(break_down(model, 0, 2).rank, kAllRanks) << "a server makes no steps";
}

TEST(Breakdown, OfRanksThatMeetIsThatOfAll) {
  const Breakdown all = break_down(at_own_pace("sync"), 0, 1);
  EXPECT_EQ(all.rank, kAllRanks);
  EXPECT_EQ(all.length, 260'000);
  EXPECT_EQ(all.batch, 9);
  EXPECT_EQ(mean_breakdown(at_own_pace("sync"), 1).length, 260'000);
}

}  // namespace
}  // namespace lockstep::gui
