// What a recording keeps of a run whose events are collected several times.
#include "run/recording.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <vector>

#include "run/train.h"
#include "tracer/format/args.h"
#include "tracer/format/keys.h"

namespace lockstep::run {
namespace {

namespace fs = std::filesystem;
namespace keys = tracer::keys;

/// Records steps 14 to 18 of the toy. With a summary, events are also collected before
/// the first traced step and every 16 steps.
tracer::Trace five_steps(bool with_summary) {
  const fs::path base =
      fs::temp_directory_path() / ("lockstep-recording-" + std::to_string(::getpid()));
  RunConfig config;
  config.mode = train::Mode::dp;
  config.model.arch = "toy";
  config.device.type = DeviceType::null;
  config.device.count = 2;
  config.data.kind = DataKind::random;
  config.data.length = 400;
  config.recipe.batch_size = 8;
  config.steps = 20;
  config.output.quiet = true;
  config.output.trace = base.string() + ".json";
  config.output.trace_steps = "14:19";
  if (with_summary) config.output.summary = base.string() + ".summary.json";
  tracer::Trace trace;
  EXPECT_EQ(run_training(config, &trace), 0);
  fs::remove(config.output.trace);
  fs::remove(base.string() + ".summary.json");
  return trace;
}

/// Device → the memory counters before each of its kernels, in order.
std::map<int64_t, std::vector<int64_t>> counts(const tracer::Trace& trace) {
  std::map<int64_t, std::vector<int64_t>> result;
  for (const tracer::Event& event : trace.events) {
    if (!event.is("kernel") || !event.args.contains(keys::memory_counters)) continue;
    result[int_arg(event.args, keys::device)].push_back(
        int_arg(event.args, keys::memory_counters));
  }
  return result;
}

TEST(Recording, CountsMemoryCountersOnWhenEventsAreCollectedSeveralTimes) {
  const tracer::Trace trace = five_steps(true);
  std::map<int64_t, int64_t> counters;
  for (const tracer::Event& event : trace.events) {
    if (event.ph == 'C') ++counters[event.pid - 1];  // pid 1 is device 0 of rank 0
  }
  const auto counted = counts(trace), alone = counts(five_steps(false));
  ASSERT_EQ(counted.size(), 2u);
  for (const auto& [device, numbers] : counted) {
    ASSERT_EQ(numbers.size(), alone.at(device).size());
    const int64_t before = numbers.front() - alone.at(device).front();
    EXPECT_GT(before, 0) << "counters of the steps before";
    for (size_t i = 0; i < numbers.size(); ++i) {
      EXPECT_EQ(numbers[i], alone.at(device)[i] + before) << "kernel " << i;
    }
    EXPECT_LE(numbers.back(), counters[device]);
  }
}

}  // namespace
}  // namespace lockstep::run
