// Where a run resumes, and when it writes a checkpoint.
#include "run/resume.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "engine/data/safetensors.h"
#include "run/train.h"

namespace lockstep::run {
namespace {

namespace fs = std::filesystem;
using train::Progress;

struct CheckpointFolderOfTest {
  fs::path path =
      fs::temp_directory_path() / ("lockstep-resume-" + std::to_string(::getpid()));
  CheckpointFolderOfTest() { fs::create_directories(path); }
  ~CheckpointFolderOfTest() { fs::remove_all(path); }

  fs::path newest() const { return path / train::kNewestFile; }
  fs::path best() const { return path / train::kBestFile; }

  void write(const fs::path& file, int epoch, int64_t samples, int64_t steps) const {
    Progress progress{"toy", epoch, samples, steps};
    data::write_safetensors(file, {}, train::format_header({progress, {}, {}, {}}));
  }
};

/// Six samples a step, 16 steps an epoch, on three ranks.
RunConfig ranks_of_toy(const fs::path& folder) {
  RunConfig config;
  config.mode = train::Mode::ddp;
  config.model.arch = "toy";
  config.device.type = DeviceType::reference;
  config.device.count = 3;
  config.data.kind = DataKind::random;
  config.data.length = 96;
  config.data.workers = 0;
  config.recipe.batch_size = 6;
  config.recipe.epochs = 2;
  config.output.quiet = true;
  config.checkpoint.folder = folder;
  return config;
}

RunConfig looking_in(const fs::path& folder) {
  RunConfig config = ranks_of_toy(folder);
  config.checkpoint.resume = kResumeAuto;
  return config;
}

TEST(ChooseCheckpoint, TakesTheNewestOfTheFolder) {
  const CheckpointFolderOfTest folder;
  RunConfig none = looking_in(folder.path);
  choose_checkpoint(none);
  EXPECT_EQ(none.checkpoint.resume, "");
  folder.write(folder.best(), 2, 0, 40);
  RunConfig config = looking_in(folder.path);
  choose_checkpoint(config);
  EXPECT_EQ(config.checkpoint.resume, folder.best());
  folder.write(folder.newest(), 2, 6, 41);
  config = looking_in(folder.path);
  choose_checkpoint(config);
  EXPECT_EQ(config.checkpoint.resume, folder.newest());
  folder.write(folder.best(), 3, 0, 60);  // killed between the two
  config = looking_in(folder.path);
  choose_checkpoint(config);
  EXPECT_EQ(config.checkpoint.resume, folder.best());
}

TEST(ChooseCheckpoint, ADamagedFileIsNamedWithWhatIsLeft) {
  const CheckpointFolderOfTest folder;
  std::ofstream(folder.newest()) << "damaged";
  const auto error_here = [&]() -> std::string {
    RunConfig config = looking_in(folder.path);
    try {
      choose_checkpoint(config);
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "";
  };
  const std::string start = folder.newest().string() + ": not a safetensors file";
  const std::string fix = "; fix: restore the file, or remove it: --resume auto then ";
  EXPECT_TRUE(error_here().starts_with(start)) << error_here();
  EXPECT_TRUE(error_here().ends_with(fix + "starts from the beginning"));
  folder.write(folder.best(), 2, 0, 40);
  EXPECT_TRUE(error_here().ends_with(fix + "continues from model_best.safetensors"));
}

TEST(ChooseCheckpoint, TheSameCommandMakesTheStepsThatAreLeft) {
  const CheckpointFolderOfTest folder;
  folder.write(folder.newest(), 2, 6, 41);
  RunConfig config = looking_in(folder.path);
  config.steps = 100;
  config.model.pretrained = "weights";
  choose_checkpoint(config);
  EXPECT_EQ(config.steps, 59);
  EXPECT_EQ(config.model.pretrained, "");
  config = looking_in(folder.path);
  config.steps = 40;
  choose_checkpoint(config);
  EXPECT_EQ(config.steps, 0);
}

TEST(ChooseCheckpoint, ARestartContinuesUnlessItHasSomethingNewer) {
  const CheckpointFolderOfTest folder;
  const std::string given = folder.path / "given";
  folder.write(folder.newest(), 2, 6, 41);
  for (const char* count : {"0", "1"}) {
    RunConfig config = ranks_of_toy(folder.path);
    config.environment.variables[variable::kRestart] = count;
    choose_checkpoint(config);
    EXPECT_EQ(config.checkpoint.resume, *count == '1' ? folder.newest() : "");
    for (const int epoch : {1, 3}) {  // of the file of --resume
      folder.write(given, epoch, 0, 20);
      config.checkpoint.resume = given;
      config.steps = 100;
      choose_checkpoint(config);
      const bool continues = *count == '1' && epoch == 1;
      EXPECT_EQ(config.checkpoint.resume, continues ? folder.newest().string() : given);
      EXPECT_EQ(config.steps, continues ? 100 - (41 - 20) : 100);
    }
  }
}

TEST(ChooseCheckpoint, RefusesToGuess) {
  EXPECT_THROW(
      {
        RunConfig config = looking_in("");
        choose_checkpoint(config);
      },
      UsageError);
  const CheckpointFolderOfTest folder;
  RunConfig evaluates = looking_in(folder.path);
  evaluates.evaluate = true;
  EXPECT_THROW(choose_checkpoint(evaluates), UsageError);
  fs::create_directory(folder.newest());  // not a checkpoint, but not nothing
  RunConfig damaged = looking_in(folder.path);
  EXPECT_THROW(choose_checkpoint(damaged), std::runtime_error);
}

TEST(NewerCheckpoint, IsNotReplacedByAnOlderOne) {
  const CheckpointFolderOfTest folder;
  RunConfig config = ranks_of_toy(folder.path);
  require_no_newer_checkpoint(config);
  folder.write(folder.newest(), 2, 6, 41);
  EXPECT_THROW(require_no_newer_checkpoint(config), UsageError);
  config.recipe.start_epoch = 2;
  EXPECT_THROW(require_no_newer_checkpoint(config), UsageError);
  config.checkpoint.start_samples = 6;
  require_no_newer_checkpoint(config);
}

TEST(NewerCheckpoint, IsNotReplacedBesideADamagedOne) {
  const CheckpointFolderOfTest folder;
  const RunConfig config = ranks_of_toy(folder.path);
  std::ofstream(folder.newest()) << "damaged";
  require_no_newer_checkpoint(config);
  folder.write(folder.path / train::kBestFile, 2, 6, 41);
  EXPECT_THROW(require_no_newer_checkpoint(config), UsageError);
}

TEST(FirstBatch, IsWhereThatManySamplesEnd) {
  RunConfig config = ranks_of_toy("");
  const DataSets data = open_data(config);
  const RankPlace alone;  // without ranks, the batch is that of --batch-size
  EXPECT_EQ(first_batch(config, data, alone), 0);
  config.checkpoint.start_samples = 90;
  EXPECT_EQ(first_batch(config, data, alone), 15);
  config.recipe.batch_size = 7;
  EXPECT_THROW(first_batch(config, data, alone), std::runtime_error);
  config.checkpoint.start_samples = 96;  // the evaluation comes next
  EXPECT_EQ(first_batch(config, data, alone), 14);
  config.mode = train::Mode::hogwild;
  EXPECT_THROW(first_batch(config, data, alone), std::runtime_error);
}

/// Ends a run after its first step, as a signal that came before does.
struct SignalledRun {
  explicit SignalledRun(int signal) {
    train::Trainer::stop_signal = signal;
    train::Trainer::stop = true;
  }
  ~SignalledRun() { train::Trainer::stop = false; }
};

TEST(StoppedRun, KeepsACheckpointAndSaysWhichSignalItWas) {
  const CheckpointFolderOfTest folder;
  const fs::path whole = folder.path / "whole", parts = folder.path / "parts";
  EXPECT_EQ(run_training(ranks_of_toy(whole)), 0);
  for (const int signal : {SIGTERM, SIGINT}) {
    {
      const SignalledRun stopped(signal);
      EXPECT_EQ(run_training(looking_in(parts)), 128 + signal);
    }
    const Progress kept = train::read_progress(parts / train::kNewestFile);
    EXPECT_EQ(kept.epoch, 0);
    EXPECT_EQ(kept.samples, signal == SIGTERM ? 6 : 12);
  }
  EXPECT_EQ(run_training(looking_in(parts)), 0);
  const auto tensors = [](const fs::path& of) {
    return data::read_safetensors(of / train::kNewestFile);
  };
  EXPECT_EQ(tensors(whole), tensors(parts));
}

TEST(CheckpointSteps, CountOptimizerSteps) {
  const CheckpointFolderOfTest folder;
  RunConfig config = ranks_of_toy(folder.path / "c");
  config.recipe.accumulate = 3;  // steps of 3, 3, 3, 3, 3 and 1 batches
  config.checkpoint.every = 2;
  config.steps = 14;
  EXPECT_EQ(run_training(config), 0);
  const Progress kept = train::read_progress(folder.path / "c" / train::kNewestFile);
  EXPECT_EQ(kept.samples, 4 * 3 * 6);
  EXPECT_EQ(kept.steps, 12);
}

TEST(CheckpointHeader, OlderVersionsRefuseTheMiddleOfAnEpoch) {
  const auto version_of = [](int64_t samples) {
    const Progress progress{"toy", 1, samples, 9};
    const auto text = train::format_header({progress, {}, {}, {}}).at("lockstep");
    const auto back = train::parse_header({{"lockstep", text}}, "file").progress;
    EXPECT_EQ(std::tuple(back.epoch, back.samples, back.steps),
              std::tuple(1, samples, int64_t{9}));
    return text.substr(text.find("\"checkpoint\":") + 13, 1);
  };
  EXPECT_EQ(version_of(0), "1");
  EXPECT_EQ(version_of(6), "2");
}

}  // namespace
}  // namespace lockstep::run
