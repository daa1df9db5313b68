// `-a toy`: the notebook's cells, line by line, and DataParallel's arguments.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <set>

#include "run/train.h"
#include "tracer/analysis/check.h"
#include "tracer/format/keys.h"

namespace lockstep::run {
namespace {

namespace fs = std::filesystem;

RunConfig notebook() {
  RunConfig config;
  config.model.arch = "toy";
  config.device.type = DeviceType::reference;
  config.device.count = 2;
  config.recipe.batch_size = 30;
  return config;
}

std::string printed_by(const RunConfig& config, tracer::Trace* trace = nullptr) {
  testing::internal::CaptureStdout();
  const int code = run_training(config, trace);
  const std::string text = testing::internal::GetCapturedStdout();
  EXPECT_EQ(code, 0) << text;
  return text;
}

TEST(Notebook, OnOneDeviceTheModelIsNotWrapped) {
  RunConfig config = notebook();
  config.mode = train::Mode::single;
  config.device.count = 0;
  config.steps = 0;
  const std::string text = printed_by(config);
  EXPECT_EQ(text.find("GPUs"), text.npos);
  EXPECT_NE(text.find("\nModel(\n  (fc): Linear("), text.npos);
}

/// The copies of a step as "why src->dst", and its byte laws that do not hold.
struct Moves {
  std::set<std::string> copies, broken;
};

Moves moves_of(RunConfig config) {
  const fs::path file =
      fs::temp_directory_path() / ("notebook-" + std::to_string(::getpid()) + ".json");
  config.output.trace = file;
  config.steps = 1;
  tracer::Trace trace;
  printed_by(config, &trace);
  fs::remove(file);
  Moves moves;
  for (const tracer::Event& event : trace.events) {
    if (!event.is("copy")) continue;
    const auto end = [&](const char* key) {
      const std::string host = tracer::string_arg(event.args, key);
      return host.empty() ? std::to_string(tracer::int_arg(event.args, key)) : host;
    };
    moves.copies.insert(tracer::string_arg(event.args, tracer::keys::why) + " " +
                        end("src") + "->" + end("dst"));
  }
  for (const tracer::Finding& finding : tracer::check_trace(trace).findings) {
    const bool counts_bytes = finding.law.ends_with("-bytes") ||
                              finding.law.ends_with("-h2d") || finding.law == "chunks";
    if (counts_bytes && !finding.ok) moves.broken.insert(finding.message);
  }
  return moves;
}

using Texts = std::set<std::string>;

TEST(Notebook, ItsInputIsWhereItIsToldToBe) {
  RunConfig config = notebook();
  Moves moves = moves_of(config);
  EXPECT_EQ(moves.copies,
            (Texts{"h2d host->0", "scatter 0->1", "replicate 0->1", "gather 1->0"}));
  EXPECT_EQ(moves.broken, Texts{});
  config.device.input_on = InputOn::host;
  moves = moves_of(config);
  EXPECT_EQ(moves.copies, (Texts{"scatter host->0", "scatter host->1", "replicate 0->1",
                                 "gather 1->0"}));
  EXPECT_EQ(moves.broken, Texts{});
}

TEST(Notebook, DevicesInAnyOrderObeyTheLaws) {
  RunConfig config = notebook();
  config.device.count = 3;
  config.device.device_ids = {2, 0};
  Moves moves = moves_of(config);
  EXPECT_EQ(moves.copies,
            (Texts{"h2d host->2", "scatter 2->0", "replicate 2->0", "gather 0->2"}));
  EXPECT_EQ(moves.broken, Texts{});
  config.device.output_device = 1;
  moves = moves_of(config);
  EXPECT_EQ(moves.copies, (Texts{"h2d host->2", "scatter 2->0", "replicate 2->0",
                                 "gather 0->1", "gather 2->1"}));
  EXPECT_EQ(moves.broken, Texts{});
}

}  // namespace
}  // namespace lockstep::run
