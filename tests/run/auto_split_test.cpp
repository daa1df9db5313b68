// `--split auto`: the choice and what is said about it, from given times; and a run.
#include "run/auto_split.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "run/environment.h"
#include "run/pipeline.h"
#include "run/train.h"

namespace lockstep::run {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMs = 1'000'000;

/// Parts of a small ResNet: 1, 2, 2, 4, 3 and 1 ms.
std::vector<parallel::PartProfile> given_parts() {
  return {{"conv1", kMs, 0, 8000},          {"layer1.0", kMs, kMs, 8000},
          {"layer1.1", kMs, kMs, 8000},     {"layer2.0", kMs, 3 * kMs, 4000},
          {"layer2.1", kMs, 2 * kMs, 4000}, {"fc", kMs, 0, 40}};
}

TEST(AutoSplit, NamesTheLayersThatBeginAStage) {
  EXPECT_EQ(choose_split(given_parts(), 2).flag(), "layer2");  // 5 | 8
  // 5 | 4 | 4: layer2 would no longer be a part if another cut is inside it.
  EXPECT_EQ(choose_split(given_parts(), 3).flag(), "layer2.0,layer2.1");
  EXPECT_EQ(choose_split(given_parts(), 6).flag(),
            "layer1.0,layer1.1,layer2.0,layer2.1,fc");
}

TEST(AutoSplit, SaysWhichAndWhy) {
  EXPECT_EQ(
      choose_split(given_parts(), 2).report(TimesFrom::this_run),
      "=> split auto: measured 6 parts alone on one device, with one micro-batch\n"
      "=>   stage 0: conv1 to layer1.1: 5.00 ms (forward 3.00 ms, backward 2.00 ms); "
      "sends 8.00 kB\n"
      "=>   stage 1: layer2.0 to fc: 8.00 ms (forward 3.00 ms, backward 5.00 ms)\n"
      "=> no other split has a faster slowest stage: stage 1 with 8.00 ms, where equal "
      "stages would take 6.50 ms\n"
      "=> nor, with that, fewer bytes at the cuts: 8.00 kB per micro-batch, and as "
      "many "
      "back\n"
      "=> times differ from run to run, and so may the split; to use it again: --split "
      "layer2\n");
}

TEST(AutoSplit, SaysThatItsTimesWereRecorded) {
  const std::string text =
      choose_split(given_parts(), 2).report(TimesFrom::recorded_step);
  EXPECT_TRUE(
      text.starts_with("=> split auto: 6 parts, with the kernels that the "
                       "recorded step has for one micro-batch\n=>   stage 0: "))
      << text;
  EXPECT_TRUE(text.ends_with("back\n=> to use it again: --split layer2\n")) << text;
}

TEST(AutoSplit, RefusesMoreStagesThanParts) {
  try {
    choose_split(given_parts(), 7);
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(),
                 "--split auto: 7 stages need as many parts, but the model has 6; fix: "
                 "use fewer --devices or --virtual-stages");
  }
}

/// ResNet18 for tiny images, on two devices that compute.
RunConfig auto_split_config() {
  RunConfig config;
  config.mode = train::Mode::model_parallel;
  config.data.kind = DataKind::generated;
  config.data.length = 4;
  config.data.image_size = 8;
  config.recipe.batch_size = 4;
  config.recipe.lr = 0.01;
  config.recipe.epochs = 1;
  config.device.count = 2;
  config.output.quiet = true;
  config.pipeline.split = "auto";
  config.given = {"--split"};
  return config;
}

std::string why_no_auto_split(const std::function<void(RunConfig&)>& change) {
  RunConfig config = auto_split_config();
  change(config);
  try {
    validate(config);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(AutoSplit, HasAsManyStagesAsTheDevicesRun) {
  RunConfig config = auto_split_config();
  validate(config);
  EXPECT_EQ(pipeline_devices(config), 2);
  config.device.count = 0;
  EXPECT_EQ(pipeline_devices(config), 4);
  config.device.count = 2;
  config.pipeline.schedule = PipelineKind::interleaved;
  config.pipeline.virtual_stages = 2;
  validate(config);
  EXPECT_EQ(pipeline_devices(config), 2);
  EXPECT_EQ(describe_pipeline(config), "4 in 4 micro-batches of 1, interleaved");
}

TEST(AutoSplit, NeedsTimesAndTwoStages) {
  EXPECT_EQ(why_no_auto_split([](RunConfig&) {}), "");
  const std::string null =
      why_no_auto_split([](RunConfig& c) { c.device.type = DeviceType::null; });
  EXPECT_EQ(
      null,
      "--split auto, the default, measures times, but --device-type null computes "
      "nothing; fix: use --device-type cpu, or name the layers, such as --split "
      "layer3");
  const std::string one = why_no_auto_split([](RunConfig& c) { c.device.count = 1; });
  EXPECT_NE(one.find("needs at least two stages"), std::string::npos) << one;
  const std::string none =
      why_no_auto_split([](RunConfig& c) { c.pipeline.split = ""; });
  EXPECT_EQ(none, "");  // the default
}

nlohmann::json summary_of(RunConfig config, const fs::path& folder) {
  config.output.summary = folder / "summary.json";
  EXPECT_EQ(run_training(config, nullptr), 0);
  return nlohmann::json::parse(std::ifstream(config.output.summary));
}

// Measuring changes neither the weights nor the counts of random numbers and memory.
TEST(AutoSplit, TrainsLikeTheSplitThatItNames) {
  const fs::path folder =
      fs::temp_directory_path() / (std::to_string(::getpid()) + "-auto-split");
  fs::create_directories(folder);
  RunConfig config = auto_split_config();
  config.checkpoint.folder = folder / "auto";
  const auto chosen = summary_of(config, folder);
  const std::string split = chosen["split"];
  ASSERT_FALSE(split.empty());
  config.pipeline.split = split;
  config.checkpoint.folder = folder / "named";
  const auto named = summary_of(config, folder);
  EXPECT_EQ(named["split"], split);
  EXPECT_EQ(chosen["steps"][0]["loss"], named["steps"][0]["loss"]);
  EXPECT_EQ(chosen["steps"][1]["loss"], named["steps"][1]["loss"]);
  EXPECT_EQ(chosen["peak_bytes_per_device"], named["peak_bytes_per_device"]);

  config.pipeline.split = "auto";  // whichever it is this time
  config.checkpoint.folder = "";
  config.checkpoint.resume = folder / "named" / "checkpoint.safetensors";
  config.recipe.epochs = 2;
  config.given.insert("--epochs");
  const auto resumed = summary_of(config, folder);
  EXPECT_EQ(resumed["steps"].size(), 2);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace lockstep::run
