// `--mode model-parallel`: what a run records, which damage `trace check` rejects, and
// which flags do not describe a pipeline.
#include "run/pipeline.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "run/environment.h"
#include "run/train.h"
#include "tracer/analysis/check.h"
#include "tracer/format/facts.h"
#include "tracer/format/keys.h"

namespace lockstep::run {
namespace {

namespace fs = std::filesystem;
namespace keys = tracer::keys;
namespace reasons = tracer::reasons;
using tracer::Event;
using tracer::Trace;

/// ResNet18 in three stages; computes nothing.
RunConfig pipeline_config() {
  RunConfig config;
  config.mode = train::Mode::model_parallel;
  config.model.arch = "resnet18";
  config.device.type = DeviceType::null;
  config.data.kind = DataKind::generated;
  config.data.length = 8;
  config.recipe.batch_size = 8;
  config.steps = 1;
  config.output.quiet = true;
  config.pipeline.split = "layer2,layer3";
  config.pipeline.schedule = PipelineKind::one_f_one_b;
  config.pipeline.micro_batches = 4;
  config.given = {"--split", "--pipeline-schedule", "--micro-batches"};
  return config;
}

fs::path pipeline_file(const char* name) {
  return fs::temp_directory_path() / (std::to_string(::getpid()) + name);
}

Trace record_pipeline(PipelineKind schedule) {
  RunConfig config = pipeline_config();
  config.pipeline.schedule = schedule;
  const fs::path file = pipeline_file("-pipeline.json");
  config.output.trace = file;
  Trace trace;
  EXPECT_EQ(run_training(config, &trace), 0);
  fs::remove(file);
  return trace;
}

const Trace& recorded_pipeline() {
  static const Trace once = record_pipeline(PipelineKind::one_f_one_b);
  return once;
}

std::set<std::string> pipeline_laws_broken(const Trace& trace) {
  std::set<std::string> laws;
  for (const tracer::Finding& finding : tracer::check_trace(trace).findings) {
    if (finding.ok || finding.law == "sources-present") continue;  // tests embed none
    laws.insert(finding.law);
  }
  return laws;
}

Event& find_copy(Trace& trace, const char* why) {
  for (Event& event : trace.events) {
    if (event.is("copy") && tracer::copy_facts(event).why == why) return event;
  }
  throw std::runtime_error(std::string("no copy for ") + why);
}

Event& find_action(Trace& trace, const char* action) {
  for (Event& event : trace.events) {
    if (tracer::string_arg(event.args, keys::action) == action) return event;
  }
  throw std::runtime_error(std::string("no action ") + action);
}

Event& step_of(Trace& trace) {
  for (Event& event : trace.events) {
    if (event.is("phase") && event.name == "step") return event;
  }
  throw std::runtime_error("no step");
}

TEST(PipelineRun, ObeysItsLaws) {
  const Trace& trace = recorded_pipeline();
  EXPECT_EQ(pipeline_laws_broken(trace), std::set<std::string>{});
  // ResNet18 on CIFAR after layer1 and layer2, per image (float32), both ways.
  int64_t sent = 0, returned = 0;
  for (const Event& event : trace.events) {
    if (!event.is("copy")) continue;
    const tracer::CopyFacts copy = tracer::copy_facts(event);
    if (copy.why == reasons::activation) sent += copy.bytes;
    if (copy.why == reasons::activation_grad) returned += copy.bytes;
  }
  EXPECT_EQ(sent, 8 * (262144 + 131072));
  EXPECT_EQ(returned, sent);
}

TEST(PipelineRun, CheckRejectsDamage) {
  using Damage = std::function<void(Trace&)>;
  const std::pair<const char*, Damage> cases[] = {
      {"activation-bytes",
       [](Trace& t) {
         Event& copy = find_copy(t, reasons::activation_grad);
         copy.args["bytes"] = tracer::copy_facts(copy).bytes / 2;
         copy.args["shape"] = {tracer::copy_facts(copy).bytes / 4};
       }},
      {"activation-bytes",
       [](Trace& t) { find_copy(t, reasons::activation).args["micro_batch"] = 3; }},
      {"schedule-valid",
       [](Trace& t) { find_action(t, "1B2").args["action"] = "1F2"; }},
      {"schedule-order",
       [](Trace& t) {
         Event &earlier = find_action(t, "0B2"), &later = find_action(t, "0B3");
         earlier.args["action"] = "0B3";
         later.args["action"] = "0B2";
       }},
      {"schedule-order", [](Trace& t) { step_of(t).args["schedule"] = "gpipe"; }},
      {"action-facts", [](Trace& t) { find_action(t, "1B2").args["stage"] = 0; }},
      {"action-facts", [](Trace& t) { find_action(t, "1B2").args["micro_batch"] = 3; }},
      {"action-facts", [](Trace& t) { find_action(t, "1F2").args.erase("stage"); }},
      {"action-facts", [](Trace& t) { find_action(t, "1B2").name = "forward"; }},
      {"pipeline-facts", [](Trace& t) { step_of(t).args["micro_batches"] = 9; }},
      {"images-h2d-of-stages",
       [](Trace& t) { find_copy(t, reasons::h2d).args["tensor"] = "model"; }},
  };
  for (const auto& [law, damage] : cases) {
    Trace trace = recorded_pipeline();
    damage(trace);
    EXPECT_TRUE(pipeline_laws_broken(trace).contains(law)) << law;
  }
}

TEST(PipelineRun, CheckRejectsMoreLiveMicroBatchesThanTheScheduleAllows) {
  Trace trace = record_pipeline(PipelineKind::gpipe);
  EXPECT_EQ(pipeline_laws_broken(trace), std::set<std::string>{});
  step_of(trace).args["schedule"] = "1f1b";
  EXPECT_EQ(pipeline_laws_broken(trace),
            (std::set<std::string>{"live-micro-batches", "schedule-order"}));
}

std::string why_no_pipeline(const std::function<void(RunConfig&)>& change) {
  RunConfig config = pipeline_config();
  change(config);
  try {
    validate(config);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(PipelineFlags, SayWhatIsImpossible) {
  EXPECT_EQ(why_no_pipeline([](RunConfig&) {}), "");
  const std::pair<const char*, std::function<void(RunConfig&)>> cases[] = {
      {"such as --split layer2,layer3,layer4",
       [](RunConfig& c) {
         c.pipeline.split = "auto";
         c.device.type = DeviceType::null;
         c.device.count = 4;
       }},
      {"such as --split layer2,layer3,layer4",
       [](RunConfig& c) {
         c.pipeline.split = "";
         c.device.type = DeviceType::null;
         c.device.count = 4;
       }},
      {"such as --split features.6,classifier",
       [](RunConfig& c) {
         c.pipeline.split = "";
         c.device.type = DeviceType::null;
         c.device.count = 3;
         c.model.arch = "vgg16";
       }},
      {"1F1B needs at least as many micro-batches as ranks",
       [](RunConfig& c) { c.pipeline.micro_batches = 2; }},
      {"naive runs the whole batch as one micro-batch",
       [](RunConfig& c) { c.pipeline.schedule = PipelineKind::naive; }},
      {"not a multiple of --virtual-stages 2",
       [](RunConfig& c) {
         c.pipeline.schedule = PipelineKind::interleaved;
         c.pipeline.virtual_stages = 2;
       }},
      {"interleaved needs several stages per device; fix: add --virtual-stages 2",
       [](RunConfig& c) { c.pipeline.schedule = PipelineKind::interleaved; }},
      {"fix: use --pipeline-schedule interleaved",
       [](RunConfig& c) { c.pipeline.virtual_stages = 3; }},
      {"--devices 2: the pipeline has 3 stages for 3 devices",
       [](RunConfig& c) { c.device.count = 2; }},
      {"a batch of 3 cannot be divided into 4 micro-batches",
       [](RunConfig& c) { c.recipe.batch_size = 3; }},
      {"divides a batch of 16 into 4 micro-batches of at most 4, not into 5",
       [](RunConfig& c) {
         c.recipe.batch_size = 16;
         c.pipeline.micro_batches = 5;
       }},
      {"-a toy has a single layer", [](RunConfig& c) { c.model.arch = "toy"; }},
      {"--split has no effect on --mode dp",
       [](RunConfig& c) { c.mode = train::Mode::dp; }},
      {"--schedule-file", [](RunConfig& c) { c.pipeline.schedule_file = "/none.csv"; }},
  };
  for (const auto& [message, change] : cases) {
    EXPECT_NE(why_no_pipeline(change).find(message), std::string::npos)
        << message << " is not in: " << why_no_pipeline(change);
  }
}

TEST(PipelineFlags, AScheduleIsWrittenAndRead) {
  const fs::path file = pipeline_file("-schedule.csv");
  RunConfig config = pipeline_config();
  config.pipeline.save_schedule = file;
  const nn::ModulePtr model = models::make("resnet18", {});
  const auto saved = pipeline_of(config, *model);
  EXPECT_EQ(saved.name, "1f1b");

  RunConfig reads = pipeline_config();
  reads.pipeline.schedule = PipelineKind::gpipe;
  reads.pipeline.micro_batches = 0;
  reads.given = {"--split", "--schedule-file"};
  reads.pipeline.schedule_file = file;
  validate(reads);
  EXPECT_EQ(pipeline_devices(reads), 3);
  EXPECT_EQ(pipeline_of(reads, *model).schedule, saved.schedule);
  EXPECT_EQ(pipeline_of(reads, *model).name, "custom");

  fs::remove(file);
}

/// One line with the fix; where an action is wrong, the grid follows.
TEST(PipelineFlags, ErrorsOfScheduleFilesSayWhereAndWhatToDo) {
  const fs::path file = pipeline_file("-broken.csv");
  const auto complaint = [&](const std::string& text) {
    std::ofstream(file) << text;
    const std::string why = why_no_pipeline([&](RunConfig& c) {
      c.given = {"--split", "--schedule-file"};
      c.pipeline.schedule = PipelineKind::gpipe;
      c.pipeline.micro_batches = 0;
      c.pipeline.schedule_file = file;
    });
    const std::string begins = "--schedule-file " + file.string() + ": ";
    EXPECT_EQ(why.substr(0, begins.size()), begins);
    return why.substr(std::min(begins.size(), why.size()));
  };
  EXPECT_EQ(
      complaint("0F0,0B0\n1B0,1F0\n2F0,2B0\n"),
      "1B0: the forward pass comes later, or never; fix: change the marked action\n"
      "step  rank 0    rank 1    rank 2  \n"
      "0     0F0       1B0       2F0  <-- ERROR HERE: rank 1\n"
      "1     0B0       1F0       2B0");
  EXPECT_EQ(complaint("0F0,0B0\n1F0,1B0\n2F0\n"), "2B0 is missing; fix: add it");
  EXPECT_EQ(
      complaint("0F0,0I0,0W0\n1F0,1B0\n2F0,2B0\n"),
      "0I0: a backward pass computes the gradients of inputs and weights together; "
      "fix: replace I and W with B");
  EXPECT_EQ(complaint("0F0,zz\n1F0,1B0\n2F0,2B0\n"),
            "line 1, cell 2: 'zz' is not an action such as 0F0 or 2B7; fix: correct "
            "that line");
  fs::remove(file);
}

}  // namespace
}  // namespace lockstep::run
