// `--mode dp-criterion`: which bytes a run moves, and that `trace check` notices any
// that are wrong.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "run/train.h"
#include "tracer/analysis/check.h"
#include "tracer/format/facts.h"
#include "tracer/format/keys.h"

namespace lockstep::run {
namespace {

namespace fs = std::filesystem;
namespace reasons = tracer::reasons;
using tracer::Event;
using tracer::Trace;

/// One training step on ten generated images, in chunks of 3, 3, 3 and 1; computes
/// nothing.
Trace recorded(InputOn input_on = InputOn::host, int devices = 4,
               bool loss_in_forward = false) {
  RunConfig config;
  config.loss_in_forward = loss_in_forward;
  config.mode = train::Mode::dp_criterion;
  config.model.arch = "resnet18";
  config.device.type = DeviceType::null;
  config.device.count = devices;
  config.device.input_on = input_on;
  config.data.kind = DataKind::generated;
  config.data.length = 10;
  config.recipe.batch_size = 10;
  config.steps = 1;
  config.output.quiet = true;
  const fs::path file = fs::temp_directory_path() /
                        ("dp-criterion-" + std::to_string(::getpid()) + ".json");
  config.output.trace = file;
  Trace trace;
  EXPECT_EQ(run_training(config, &trace), 0);
  fs::remove(file);
  return trace;
}

/// The laws that a trace violates, with messages.
std::set<std::string> broken_laws(const Trace& trace) {
  std::set<std::string> laws;
  for (const tracer::Finding& finding : tracer::check_trace(trace).findings) {
    if (finding.ok || finding.law == "sources-present") continue;  // tests embed none
    laws.insert(finding.law + ": " + finding.message);
  }
  return laws;
}

std::set<std::string> names_of(const std::set<std::string>& broken) {
  std::set<std::string> names;
  for (const std::string& law : broken) names.insert(law.substr(0, law.find(':')));
  return names;
}

/// "why src>dst" of each route, with its bytes; the host is -1.
std::map<std::string, int64_t> moved(const Trace& trace) {
  std::map<std::string, int64_t> bytes;
  for (const Event& event : trace.events) {
    if (!event.is("copy")) continue;
    const tracer::CopyFacts copy = tracer::copy_facts(event);
    bytes[std::string(copy.why) + " " + std::to_string(copy.src) + ">" +
          std::to_string(copy.dst)] += copy.bytes;
  }
  return bytes;
}

/// Doubles one copy of each kind.
void expect_wrong_bytes_rejected(const Trace& whole) {
  for (const auto& [why, law] : {std::pair{reasons::targets, "targets-bytes"},
                                 {reasons::loss, "loss-bytes"},
                                 {reasons::loss_grad, "loss-grad-bytes"},
                                 {reasons::metrics, "metrics-bytes"}}) {
    Trace trace = whole;
    for (Event& event : trace.events) {
      if (!event.is("copy") || tracer::copy_facts(event).why != why) continue;
      event.args["bytes"] = tracer::copy_facts(event).bytes * 2;  // and consistent
      event.args["shape"] = {tracer::copy_facts(event).bytes / 4};
      event.args["dtype"] = "float32";
      break;
    }
    EXPECT_EQ(names_of(broken_laws(trace)), std::set<std::string>{law});
  }
}

TEST(DpCriterion, SendsTargetsAndScalarsInsteadOfOutputs) {
  const Trace trace = recorded();
  EXPECT_EQ(broken_laws(trace), std::set<std::string>{});
  auto bytes = moved(trace);
  const std::string host = std::to_string(tracer::kHost) + ">";
  for (int d = 0; d < 4; ++d) {
    const std::string here = std::to_string(d);
    EXPECT_EQ(bytes["targets " + host + here], d < 3 ? 24 : 8);
    if (d == 0) continue;
    EXPECT_EQ(bytes["loss " + here + ">0"], 4);
    EXPECT_EQ(bytes["loss_grad 0>" + here], 4);
    EXPECT_EQ(bytes["metrics " + here + ">0"], 8);
  }
  for (const auto& [route, sum] : bytes) {
    EXPECT_FALSE(route.starts_with("gather") || route.starts_with("grad_scatter") ||
                 route.starts_with("h2d"))
        << route << ": " << sum;
  }
}

TEST(DpCriterion, TargetsComeFromWhereTheImagesAre) {
  const Trace trace = recorded(InputOn::device0);
  EXPECT_EQ(broken_laws(trace), std::set<std::string>{});
  auto bytes = moved(trace);
  EXPECT_EQ(bytes["targets 0>1"], 24);
  EXPECT_EQ(bytes["targets 0>3"], 8);
  EXPECT_FALSE(bytes.contains("targets 0>0")) << "a view";
}

TEST(DpCriterion, OneDeviceSendsNoScalars) {
  const Trace trace = recorded(InputOn::host, 1);
  EXPECT_EQ(broken_laws(trace), std::set<std::string>{});
  for (const auto& [route, sum] : moved(trace)) {
    EXPECT_FALSE(route.starts_with("loss") || route.starts_with("metrics")) << route;
  }
}

TEST(DpCriterion, LossInForwardMovesTheSameBytes) {
  for (const int devices : {4, 1}) {
    const Trace inside = recorded(InputOn::host, devices, true);
    EXPECT_EQ(broken_laws(inside), std::set<std::string>{});
    EXPECT_EQ(moved(inside), moved(recorded(InputOn::host, devices)));
    bool gathers = false;
    for (const Event& event : inside.events) {
      gathers |= event.is("phase") && event.name == "gather";
    }
    EXPECT_EQ(gathers, devices > 1);
  }
}

TEST(DpCriterion, CheckRejectsWrongBytes) {
  for (const bool loss_in_forward : {false, true}) {
    expect_wrong_bytes_rejected(recorded(InputOn::host, 4, loss_in_forward));
  }
}

/// Returns the losses of the last `count` training steps in the summary.
std::vector<double> last_losses(const std::string& summary, size_t count) {
  std::vector<double> losses;
  std::ifstream file(summary);
  const tracer::Json whole = tracer::Json::parse(file);
  for (const tracer::Json& step : whole["steps"]) {
    if (step["kind"] == "train") losses.push_back(step["loss"]);
  }
  EXPECT_GE(losses.size(), count);
  return {losses.end() - count, losses.end()};
}

// Ten images in batches of 6 and 4, on two devices: the resumed epoch is the second of
// the run that was not interrupted.
TEST(DpCriterion, AResumedRunContinuesBitwise) {
  const fs::path folder =
      fs::temp_directory_path() / ("dp-criterion-" + std::to_string(::getpid()));
  RunConfig config;
  config.mode = train::Mode::dp_criterion;
  config.model.arch = "resnet20";
  config.device.count = 2;
  config.device.threads = 1;
  config.data.kind = DataKind::generated;
  config.data.length = 10;
  config.data.image_size = 8;
  config.recipe.batch_size = 6;
  config.recipe.epochs = 2;
  config.output.quiet = true;
  const std::string summary = folder.string() + ".summary.json";
  config.output.summary = summary;
  for (const bool loss_in_forward : {false, true}) {
    config.loss_in_forward = loss_in_forward;
    RunConfig whole = config, first = config, second = config;
    EXPECT_EQ(run_training(whole), 0);
    const std::vector<double> uninterrupted = last_losses(summary, 2);
    first.recipe.epochs = 1;
    first.checkpoint.folder = folder;
    EXPECT_EQ(run_training(first), 0);
    second.checkpoint.resume = (folder / "checkpoint.safetensors").string();
    second.given = {"--epochs"};
    EXPECT_EQ(run_training(second), 0);
    EXPECT_EQ(last_losses(summary, 2), uninterrupted);
    EXPECT_NE(uninterrupted[0], uninterrupted[1]);
    fs::remove_all(folder);
  }
  fs::remove(summary);
}

TEST(DpCriterion, IsNotJudgedAsDataParallelIs) {
  Trace trace = recorded();
  trace.lockstep["mode"] = "dp";
  EXPECT_EQ(
      names_of(broken_laws(trace)),
      (std::set<std::string>{"gather-bytes", "grad-scatter-bytes", "labels-h2d"}));
}

}  // namespace
}  // namespace lockstep::run
