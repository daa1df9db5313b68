// Programs that are constructed from one device's step have the tasks that the engine
// records when it runs them: the same kernels and copies, on the same streams, in the
// same order, each waiting for the same ones.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "engine/models/zoo.h"
#include "engine/nn/init.h"
#include "engine/parallel/part_profile.h"
#include "run/pipeline.h"
#include "run/train.h"
#include "tests/tracer/task_lines.h"
#include "tracer/analysis/check.h"
#include "tracer/emulate/construct/construct.h"
#include "tracer/emulate/construct/recorded_parts.h"
#include "tracer/emulate/emulate.h"

namespace lockstep::run {
namespace {

namespace fs = std::filesystem;
using tracer::Trace;
using tracer::testing::TaskLines;

RunConfig computing(train::Mode mode, int64_t batch) {
  RunConfig config;
  config.mode = mode;
  config.model.arch = "resnet18";
  config.device.type = DeviceType::cpu;
  config.data.kind = DataKind::generated;
  config.data.length = batch;
  config.recipe.batch_size = batch;
  config.steps = 1;
  config.output.quiet = true;
  return config;
}

Trace recorded_by_engine(RunConfig config) {
  const fs::path file = fs::temp_directory_path() /
                        (std::to_string(::getpid()) + "-constructed-modes.json");
  config.output.trace = file;
  Trace trace;
  EXPECT_EQ(run_training(config, &trace), 0);
  fs::remove(file);
  return trace;
}

const Trace& step_of_one_image() {
  static const Trace trace = recorded_by_engine(computing(train::Mode::single, 1));
  return trace;
}

TEST(ConstructedModes, APipelineHasTheTasksThatTheEngineRecords) {
  for (const auto& [schedule, split, virtual_stages] :
       {std::tuple{PipelineKind::one_f_one_b, "layer3", 1},
        {PipelineKind::interleaved, "layer2,layer3.1,layer4", 2}}) {
    RunConfig config = computing(train::Mode::model_parallel, 2);
    config.pipeline.split = split;
    config.pipeline.schedule = schedule;
    config.pipeline.micro_batches = 2;
    config.pipeline.virtual_stages = virtual_stages;
    tracer::ConstructedProgram program;
    program.mode = "model-parallel";
    program.pipeline = {cuts_of(split), schedule_of(config), name_of_schedule(config)};
    const Trace constructed = tracer::construct(step_of_one_image(), program);
    EXPECT_EQ(TaskLines(constructed).lines(),
              TaskLines(recorded_by_engine(config)).lines());
  }
}

RunConfig alexnet(train::Mode mode, int64_t batch) {
  RunConfig config = computing(mode, batch);
  config.model.arch = "alexnet";
  config.data.image_size = 64;
  return config;
}

// Device 0 repeats the rest of a step with the whole batch, which was recorded, too.
TEST(ConstructedModes, DataParallelFeaturesHaveTheTasksThatTheEngineRecords) {
  const Trace chunk = recorded_by_engine(alexnet(train::Mode::single, 1));
  const Trace whole = recorded_by_engine(alexnet(train::Mode::single, 2));
  RunConfig config = alexnet(train::Mode::dp_features, 2);
  config.device.count = 2;
  const Trace recorded = recorded_by_engine(config);
  tracer::ConstructedProgram program;
  program.mode = "dp-features";
  program.devices = 2;
  program.further = {&whole};
  const Trace constructed = tracer::construct(chunk, program);
  EXPECT_EQ(TaskLines(constructed).lines(), TaskLines(recorded).lines());
  for (const auto& finding :
       tracer::check_trace(tracer::emulate(constructed)).findings) {
    const bool told =
        finding.ok || finding.law == "sources-present";  // of a test: none
    EXPECT_TRUE(told) << finding.law << ": " << finding.message;
  }
  program.further = {};
  const auto why = [&](const Trace& trace) -> std::string {
    try {
      tracer::construct(trace, program);
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(why(chunk).find("device 0 has the whole batch"), std::string::npos);
  EXPECT_NE(why(step_of_one_image()).find("replicates the module `features`"),
            std::string::npos);
}

// The parts of --split auto are the same in a trace as in the model that it records.
// To flatten the features is no call of a module, and takes no time.
TEST(ConstructedModes, APipelineCanBeCutWhereTheEngineCutsIt) {
  std::vector<std::string> in_trace, in_model;
  for (const tracer::RecordedPart& part :
       tracer::recorded_parts(step_of_one_image(), {}, 0)) {
    in_trace.push_back(fmt::format("{} {} B", part.name, part.output_bytes));
    if (part.name == "relu") continue;  // its batch norm's kernel does its work
    EXPECT_GT(part.forward_ns, 0) << part.name;
    EXPECT_GT(part.backward_ns, 0) << part.name;
  }
  const nn::ModulePtr model = models::make("resnet18", {});
  const Tensor images = nn::initial(Shape({1, 3, 32, 32}), nn::Init::normal(1));
  for (const parallel::PartProfile& part :
       parallel::profile_parts(*model, {DeviceType::cpu, 9}, images, 1)) {
    if (part.name == "flatten") continue;
    const int64_t bytes = part.name == "fc" ? 0 : part.output_bytes;  // nothing follows
    in_model.push_back(fmt::format("{} {} B", part.name, bytes));
  }
  EXPECT_EQ(in_trace, in_model);
}

// With several workers, the engine's last one is whichever is the slowest.
TEST(ConstructedModes, ServersHaveTheTasksThatTheEngineRecords) {
  RunConfig config = computing(train::Mode::ps, 1);
  config.device.count = 1;
  config.ps.servers = 2;
  config.data.length = 2;
  config.steps = 2;
  config.output.trace_steps = "1:2";  // the servers have their weights
  tracer::ConstructedProgram program;
  program.mode = "ps";
  program.devices = 1;
  program.servers = 2;
  const Trace constructed = tracer::construct(step_of_one_image(), program);
  auto recorded = TaskLines(recorded_by_engine(config)).lines();
  // The sum of the metrics over ranks is not constructed.
  for (auto& [stream, lines] : recorded) {
    std::erase_if(lines, [](const std::string& line) {
      return line.find(" in metrics") != line.npos;
    });
  }
  std::erase_if(recorded, [](const auto& entry) { return entry.second.empty(); });
  EXPECT_EQ(TaskLines(constructed).lines(), recorded);
}

TEST(ConstructedModes, ACriterionHasTheTasksThatTheEngineRecords) {
  for (const int devices : {1, 3}) {
    RunConfig config = computing(train::Mode::dp_criterion, devices);
    config.device.count = devices;
    tracer::ConstructedProgram program;
    program.mode = "dp-criterion";
    program.devices = devices;
    const Trace constructed = tracer::construct(step_of_one_image(), program);
    EXPECT_EQ(TaskLines(constructed).lines(),
              TaskLines(recorded_by_engine(config)).lines());
  }
}

}  // namespace
}  // namespace lockstep::run
