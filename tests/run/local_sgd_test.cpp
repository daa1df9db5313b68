// `--mode local-sgd`: when a run averages its weights, that `trace check` notices any
// average that is missing, superfluous or of the wrong size, and what a checkpoint
// keeps.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <set>

#include "run/train.h"
#include "tracer/analysis/check.h"
#include "tracer/format/facts.h"
#include "tracer/format/keys.h"

namespace lockstep::run {
namespace {

namespace fs = std::filesystem;
namespace keys = tracer::keys;
using tracer::Event;
using tracer::Trace;

fs::path local_sgd_file(const char* name) {
  return fs::temp_directory_path() /
         ("local-sgd-" + std::to_string(::getpid()) + "-" + name);
}

/// Two ranks, three training steps and one of evaluation per epoch; an average is due
/// after the optimizer steps 1, 3, 5, … (counted from 0). Computes nothing.
RunConfig two_ranks() {
  RunConfig config;
  config.mode = train::Mode::local_sgd;
  config.local_sgd = {2, 1};
  config.model.arch = "resnet18";
  config.device.type = DeviceType::null;
  config.device.count = 2;
  config.data.kind = DataKind::generated;
  config.data.length = 12;
  config.data.image_size = 8;
  config.recipe.batch_size = 4;
  config.recipe.epochs = 1;
  config.output.quiet = true;
  return config;
}

Trace recorded_ranks(RunConfig config) {
  config.output.trace = local_sgd_file("trace.json");
  config.output.trace_steps = "0:100";
  Trace trace;
  EXPECT_EQ(run_training(config, &trace), 0);
  fs::remove(config.output.trace);
  return trace;
}

/// The names of the laws that a trace violates.
std::set<std::string> violated(const Trace& trace) {
  std::set<std::string> laws;
  for (const tracer::Finding& finding : tracer::check_trace(trace).findings) {
    if (!finding.ok && finding.law != "sources-present") laws.insert(finding.law);
  }
  return laws;
}

bool is_average(const Event& event) {
  return event.is("collective") &&
         tracer::collective_facts(event).why == tracer::reasons::average;
}

std::set<int64_t> steps_that_average(const Trace& trace) {
  std::set<int64_t> steps;
  for (const Event& event : trace.events) {
    if (is_average(event)) steps.insert(event.step);
  }
  return steps;
}

/// Sets an argument of the first step's event.
void set_in_first_step(Trace& trace, const char* key, int64_t value) {
  for (Event& event : trace.events) {
    if (!event.is("phase") || event.name != "step") continue;
    event.args[key] = value;
    return;
  }
}

TEST(LocalSgdRun, AveragesTheParametersAfterTheStepsDue) {
  RunConfig config = two_ranks();
  config.recipe.epochs = 2;
  const Trace trace = recorded_ranks(config);
  EXPECT_EQ(violated(trace), std::set<std::string>{});
  // Steps 0, 1, 2 train and 3, 4, 5 evaluate; 6, 7, 8 train: optimizer steps 3 to 5.
  std::set<int64_t> trained;
  for (const Event& event : trace.events) {
    if (event.is("phase") && event.name == "optimizer") trained.insert(event.step);
  }
  ASSERT_EQ(trained.size(), 6u);
  std::set<int64_t> due;
  int64_t made = 0;
  for (const int64_t step : trained) {
    if (made++ % 2 == 1) due.insert(step);
  }
  EXPECT_EQ(steps_that_average(trace), due);
}

TEST(LocalSgdRun, AccumulatedBatchesAreOneStep) {
  RunConfig config = two_ranks();
  config.recipe.accumulate = 2;  // updates after batches 1 and 2
  const Trace trace = recorded_ranks(config);
  EXPECT_EQ(violated(trace), std::set<std::string>{});
  EXPECT_EQ(steps_that_average(trace), (std::set<int64_t>{2}));
}

TEST(LocalSgdRun, CheckRejectsDamagedTraces) {
  const Trace whole = recorded_ranks(two_ranks());
  const std::set<std::string> due{"average-due"};
  {
    Trace trace = whole;  // the ranks agree on the wrong size
    for (Event& event : trace.events) {
      if (is_average(event)) event.args["bytes"] = 8;
    }
    EXPECT_TRUE(violated(trace).contains("average-due"));
  }
  {
    Trace trace = whole;  // an average that is called something else
    for (Event& event : trace.events) {
      if (is_average(event)) event.args[keys::why] = "metrics";
    }
    EXPECT_EQ(violated(trace), (std::set<std::string>{"average-due", "messages-agree"}))
        << "its messages are still called averages";
  }
  {
    Trace trace = whole;  // gradients are not reduced
    for (Event& event : trace.events) {
      if (event.is("collective") && !is_average(event)) {
        event.args[keys::why] = tracer::reasons::all_reduce;
      }
    }
    EXPECT_EQ(violated(trace),
              (std::set<std::string>{"messages-agree", "no-gradients-reduced"}));
  }
  {
    Trace trace = whole;
    set_in_first_step(trace, keys::local_steps, 1);
    set_in_first_step(trace, keys::warmup_steps, 0);
    EXPECT_EQ(violated(trace), due);
  }
  {
    Trace trace = whole;
    set_in_first_step(trace, keys::optimizer_steps, 2);
    EXPECT_EQ(violated(trace), (std::set<std::string>{"average-due", "local-steps"}));
  }
}

TEST(LocalSgdRun, AResumedRunKeepsTheCountOfSteps) {
  const fs::path folder = local_sgd_file("checkpoints");
  RunConfig config = two_ranks();
  config.checkpoint.folder = folder;
  EXPECT_EQ(run_training(config), 0);  // optimizer steps 0 to 2; averages after 1
  RunConfig more = two_ranks();
  more.checkpoint.resume = (folder / "checkpoint.safetensors").string();
  more.local_sgd = {};  // the checkpoint's
  more.recipe.epochs = 2;
  more.given = {"--epochs"};
  const Trace trace = recorded_ranks(more);
  EXPECT_EQ(violated(trace), std::set<std::string>{});
  EXPECT_EQ(steps_that_average(trace), (std::set<int64_t>{0, 2})) << "steps 3 and 5";
  fs::remove_all(folder);
}

TEST(LocalSgdRun, RefusesFlagsOfOtherModes) {
  const auto refused = [](const RunConfig& config) {
    try {
      validate(config);
      return std::string();
    } catch (const UsageError& error) {
      return std::string(error.what());
    }
  };
  RunConfig config = two_ranks();
  EXPECT_EQ(refused(config), "");
  config.given = {"--bucket-cap-mb"};
  EXPECT_EQ(refused(config),
            "--bucket-cap-mb requires DistributedDataParallel; fix: add --mode ddp or "
            "--multiprocessing-distributed");
  config.given.clear();
  config.ddp.sync_bn = true;
  EXPECT_EQ(refused(config),
            "--sync-bn shares statistics between ranks; fix: add --mode ddp");
  config.ddp.sync_bn = false;
  config.mode = train::Mode::ddp;
  config.given = {"--local-steps"};
  EXPECT_EQ(refused(config),
            "--local-steps has no effect on --mode ddp; fix: omit it, or use --mode "
            "local-sgd");
  config.given = {"--loss-in-forward"};
  EXPECT_EQ(refused(config),
            "--loss-in-forward has no effect on --mode ddp; fix: omit it, or use "
            "--mode dp-criterion");
}

}  // namespace
}  // namespace lockstep::run
