// The trace of a run with `--slow-rank` says how many times as slow the rank is, so
// that the emulator can keep it slow (tests/tracer/slow_ranks_test.cpp).
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "run/sharing.h"
#include "run/train.h"
#include "tracer/format/facts.h"
#include "tracer/format/keys.h"

namespace lockstep::run {
namespace {

TEST(SlowRank, TracesSayHowManyTimesAsSlowItIs) {
  namespace fs = std::filesystem;
  RunConfig config;
  config.mode = train::Mode::ps;
  config.ps.consistency = sharing::Consistency::async;
  config.ps.slow_rank = "1:2.5x";
  config.model.arch = "toy";
  config.device.type = DeviceType::null;
  config.device.count = 2;
  config.data.kind = DataKind::random;
  config.data.length = 24;
  config.data.workers = 0;
  config.recipe.batch_size = 4;
  config.steps = 6;
  config.output.quiet = true;
  const fs::path file =
      fs::temp_directory_path() / ("slow-rank-" + std::to_string(::getpid()) + ".json");
  config.output.trace = file;
  tracer::Trace trace;
  ASSERT_EQ(run_training(config, &trace), 0);
  fs::remove(file);
  int found = 0;
  for (const tracer::Event& event : trace.events) {
    if (!event.is("kernel") || event.name != tracer::names::emulated_work) continue;
    EXPECT_EQ(tracer::number_arg(event.args, "slowness"), 2.5);
    EXPECT_EQ(tracer::int_arg(event.args, "rank"), 1);
    ++found;
  }
  EXPECT_EQ(found, 6);
}

TEST(DescribeServers, SaysWhatNoOtherLineDoes) {
  RunConfig config;
  EXPECT_EQ(describe_servers(config, 4), "");
  config.mode = train::Mode::ps;
  EXPECT_EQ(describe_servers(config, 4), ", 1 server (cpu:4), sync");
  config.ps.backup = 1;
  config.ps.servers = 3;
  EXPECT_EQ(describe_servers(config, 4),
            ", 3 servers (cpu:4 to cpu:6), sync, backup 1");
  config.ps = {.servers = 2, .consistency = sharing::Consistency::ssp, .staleness = 1};
  config.ps.slow_rank = "2:3x";
  EXPECT_EQ(describe_servers(config, 4),
            ", 2 servers (cpu:4, cpu:5), ssp, staleness 1, rank 2 3x slow");
}

}  // namespace
}  // namespace lockstep::run
