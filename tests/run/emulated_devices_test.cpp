// `--device-type emulated`: the work of a run takes the times of a hardware profile. No
// test sleeps: what the devices take is in the trace, and where the host waits is in
// the times until which it asks to sleep.
#include "run/emulated_devices.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>

#include "run/profile_pace.h"
#include "run/train.h"
#include "tracer/analysis/check.h"
#include "tracer/analysis/summary.h"
#include "tracer/format/facts.h"
#include "tracer/format/keys.h"
#include "tracer/record/recorder.h"

namespace lockstep::run {
namespace {

namespace fs = std::filesystem;
using tracer::Event;
using tracer::Trace;

std::shared_ptr<const tracer::Hardware> hardware_of(const std::string& name) {
  std::ifstream stream(fs::path(LOCKSTEP_SOURCE_DIR) / "tracer/emulate/hardware" /
                       (name + ".json"));
  const std::string text(std::istreambuf_iterator<char>(stream), {});
  return std::make_shared<tracer::Hardware>(tracer::parse_hardware(text, name));
}

/// The times until which somebody asked to sleep.
struct LatestSleep {
  std::mutex mutex;
  int64_t latest = 0;
};

RunConfig config_of(train::Mode mode, int devices, int64_t batch,
                    const std::shared_ptr<LatestSleep>& sleeper) {
  RunConfig c;
  c.mode = mode;
  c.model.arch = "resnet18";
  c.device.type = DeviceType::emulated;
  c.device.hardware = hardware_of("v100-pcie");
  c.device.count = devices;
  c.device.sleep_until = [sleeper](int64_t time) {
    std::lock_guard lock(sleeper->mutex);
    sleeper->latest = std::max(sleeper->latest, time);
  };
  c.data.kind = DataKind::generated;
  c.data.image_size = 224;
  c.data.workers = 0;
  c.data.length = batch;
  c.recipe.batch_size = batch;
  c.steps = 1;
  c.output.quiet = true;
  c.output.trace = fs::temp_directory_path() /
                   ("emulated-devices-" + std::to_string(::getpid()) + ".json");
  return c;
}

struct EmulatedStep {
  Trace trace;
  int64_t slept_until = 0;  ///< ns since the trace's origin
};

EmulatedStep run_step(train::Mode mode, int devices, int64_t batch) {
  const auto sleeper = std::make_shared<LatestSleep>();
  const RunConfig c = config_of(mode, devices, batch, sleeper);
  EmulatedStep run;
  const int64_t origin = tracer::now_ns();
  tracer::set_origin(origin);
  EXPECT_EQ(run_training(c, &run.trace), 0);
  fs::remove(c.output.trace);
  run.slept_until = sleeper->latest - origin;
  return run;
}

void expect_all_laws(const Trace& trace) {
  for (const tracer::Finding& finding : tracer::check_trace(trace).findings) {
    if (finding.law == "sources-present") continue;  // tests embed none
    if (finding.law == "sync-waits") continue;       // nobody really sleeps here
    EXPECT_TRUE(finding.ok) << finding.law << ": " << finding.message;
  }
}

/// Returns how long a device's kernels take together (ns), by phase.
std::map<std::string, int64_t> kernels_of(const Trace& trace, int64_t device) {
  std::map<std::string, int64_t> sums;
  for (const Event& event : trace.events) {
    if (!event.is("kernel") || tracer::int_arg(event.args, "device") != device)
      continue;
    sums[tracer::string_arg(event.args, "phase")] += event.dur;
  }
  return sums;
}

std::vector<const Event*> copies_for(const Trace& trace, const std::string& why) {
  std::vector<const Event*> found;
  for (const Event& event : trace.events) {
    if (event.is("copy") && tracer::copy_facts(event).why == why) {
      found.push_back(&event);
    }
  }
  return found;
}

constexpr int64_t kTinyError = 2;  // ns: rounding, at the beginning and at the end

// resnet18 on a V100 with a batch of 12: 4.5 ms and 13.84 ms.
TEST(EmulatedDevices, KernelsShareTheMeasuredTimeOfTheirPhase) {
  const EmulatedStep run = run_step(train::Mode::single, 1, 12);
  expect_all_laws(run.trace);
  auto sums = kernels_of(run.trace, 0);
  EXPECT_NEAR(sums["forward"], 4'500'000, kTinyError);
  EXPECT_NEAR(sums["backward"] + sums["optimizer"], 13'840'000, kTinyError);
  EXPECT_GT(sums["optimizer"], 0);
  const auto images =
      copies_for(run.trace, "h2d");  // 12 images of 602,112 B at 12 GB/s
  const int64_t longest = (*std::max_element(images.begin(), images.end(),
                                             [](const Event* a, const Event* b) {
                                               return a->dur < b->dur;
                                             }))
                              ->dur;
  EXPECT_NEAR(longest, 5'700 + 12 * 602'112 / 12, kTinyError);
}

// No more and no less: each step ends when its last kernel or copy does.
TEST(EmulatedDevices, TheHostSleepsUntilTheDevicesAreDone) {
  for (const int devices : {1, 2}) {
    const auto mode = devices == 1 ? train::Mode::single : train::Mode::dp;
    const EmulatedStep run = run_step(mode, devices, devices * 12);
    int64_t begin = INT64_MAX, end = 0;
    for (const Event& event : run.trace.events) {
      if (!event.is("kernel") && !event.is("copy")) continue;
      begin = std::min(begin, event.ts);
      end = std::max(end, event.ts + event.dur);
    }
    EXPECT_EQ(run.slept_until, end);
    EXPECT_GE(end - begin, 4'500'000 + 13'840'000);
  }
}

TEST(EmulatedDevices, TimesBetweenMeasuredBatchesAreInterpolated) {
  const EmulatedStep run =
      run_step(train::Mode::single, 1, 22);  // halfway from 12 to 32
  EXPECT_NEAR(kernels_of(run.trace, 0)["forward"], 6'810'000, kTinyError);
}

TEST(EmulatedDevices, EachReplicaTakesTheTimeOfItsChunk) {
  const EmulatedStep run = run_step(train::Mode::dp, 2, 25);  // chunks of 13 and 12
  expect_all_laws(run.trace);
  EXPECT_NEAR(kernels_of(run.trace, 0)["parallel_apply"], 4'731'000, kTinyError);
  EXPECT_NEAR(kernels_of(run.trace, 1)["parallel_apply"], 4'500'000, kTinyError);
  // The optimizer of both runs on device 0, with the factor of its batch.
  EXPECT_NEAR(
      kernels_of(run.trace, 1)["backward"] + kernels_of(run.trace, 0)["optimizer"],
      13'840'000, 20'000);
}

TEST(EmulatedDevices, CopiesOverTheSameLinkTakeTurns) {
  const EmulatedStep run = run_step(train::Mode::dp, 2, 24);
  const auto scatter = copies_for(run.trace, "scatter");
  ASSERT_EQ(scatter.size(), 2u);
  const int64_t first = std::min(scatter[0]->ts, scatter[1]->ts);
  const int64_t second = std::max(scatter[0]->ts, scatter[1]->ts);
  EXPECT_GE(second - first, 602'112) << "12 images at 12 GB/s, below one switch";
}

TEST(EmulatedDevices, RanksMeetInRingsOfTheLinksSpeed) {
  const EmulatedStep run = run_step(train::Mode::ddp, 2, 24);
  expect_all_laws(run.trace);
  for (const int device : {0, 1}) {
    // And the buffers' copies, which one device does not make.
    EXPECT_NEAR(kernels_of(run.trace, device)["forward"], 4'500'000, 1000);
  }
  const auto messages = copies_for(run.trace, "all_reduce");
  ASSERT_FALSE(messages.empty());
  for (const Event* message : messages) {
    const int64_t bytes = tracer::copy_facts(*message).bytes;
    EXPECT_NEAR(message->dur, 5'700 + bytes / 12, kTinyError);
  }
}

TEST(EmulatedDevices, TheTraceSaysWhatIsEmulated) {
  const Trace trace = run_step(train::Mode::single, 1, 12).trace;
  EXPECT_EQ(trace.lockstep["clock"], "measured");
  EXPECT_EQ(trace.lockstep["emulated_devices"]["hardware"], "v100-pcie");
  EXPECT_EQ(trace.lockstep["devices"][0]["name"], "emulated:0 as V100-PCIe-32GB");
  const tracer::Summary summary = tracer::summarize(trace);
  const std::string text = tracer::summary_text(summary);
  EXPECT_NE(text.find("emulated devices: they take the times of V100-PCIe-32GB\n"),
            std::string::npos);
  EXPECT_NE(summary.assumed.find("losses and accuracies are unknown"),
            std::string::npos);
}

TEST(EmulatedDevices, LossesAreUnknown) {
  auto sleeper = std::make_shared<LatestSleep>();
  RunConfig c = config_of(train::Mode::dp, 2, 24, sleeper);
  const fs::path file = c.output.trace + ".summary";
  c.output.trace.clear();
  c.output.summary = file;
  ASSERT_EQ(run_training(c), 0);
  std::ifstream stream(file);
  const auto summary = tracer::Json::parse(stream);
  EXPECT_TRUE(summary["steps"][0]["loss"].is_null());
  EXPECT_GT(summary["steps"][0]["phases"]["backward"], 0.013);
  fs::remove(file);
}

/// Returns the error of a run whose options `change` has changed.
template <typename Change>
std::string error_of(Change change) {
  RunConfig c = config_of(train::Mode::dp, 2, 24, std::make_shared<LatestSleep>());
  c.output.trace.clear();
  change(c);
  try {
    run_training(c);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

void expect_in(const std::string& part, const std::string& error) {
  EXPECT_NE(error.find(part), std::string::npos) << error;
}

TEST(EmulatedDevices, UnknownTimesAreRefusedBeforeTraining) {
  expect_in("measured with 12, 32, 64, 128, 256, and are not extrapolated",
            error_of([](RunConfig& c) { c.recipe.batch_size = c.data.length = 16; }));
  expect_in("the last batch of the training set has 3 samples",
            error_of([](RunConfig& c) {
              c.data.length = 30;
              c.steps = 2;
            }));
  expect_in("alexnet on V100-PCIe-32GB with images of 224 pixels are unknown",
            error_of([](RunConfig& c) { c.model.arch = "alexnet"; }));
  expect_in("with images of 32 pixels",
            error_of([](RunConfig& c) { c.data.image_size = 32; }));
}

TEST(EmulatedDevices, OptionsThatDoNotFitAreRefused) {
  expect_in("add --hardware v100-pcie",
            error_of([](RunConfig& c) { c.device.hardware = nullptr; }));
  expect_in("has no effect on --device-type null",
            error_of([](RunConfig& c) { c.device.type = DeviceType::null; }));
  expect_in("no times of its devices", error_of([](RunConfig& c) {
              c.device.hardware = hardware_of("pcie3-switch");
            }));
  expect_in("has 8 devices, not 9", error_of([](RunConfig& c) { c.device.count = 9; }));
  expect_in("not available with --mode ps",
            error_of([](RunConfig& c) { c.mode = train::Mode::ps; }));
  expect_in("not available to ranks that are processes", error_of([](RunConfig& c) {
              c.mode = std::nullopt;
              c.distributed.multiprocessing = true;
            }));
  expect_in("--save is about weights", error_of([](RunConfig& c) {
              c.output.save = "w.safetensors";
              c.given.insert("--save");
            }));
}

// A device of 10 TFLOP/s and 100 GB/s, and a net of 2 ms and 4 ms.
TEST(ProfilePace, KernelsTakeTheirEstimateTimesAFactor) {
  tracer::Hardware hardware = *hardware_of("v100-pcie");
  tracer::PhaseTable table{"net", 224, {8}, {2}, {4}};
  hardware.device_times = tracer::MeasuredDevice{"device", "a test", 10, 100, {table}};
  const auto shared = std::make_shared<const tracer::Hardware>(hardware);
  ProfilePace pace(shared, shared->device_times->tables[0], 2, [](int64_t) {});
  const Device device{DeviceType::emulated, 1};
  const auto take = [&](const char* phase, int64_t flops, int64_t bytes) {
    return pace.kernel({device, phase, flops, bytes, 8});
  };
  pace.begin_counting(8);
  EXPECT_EQ(take("forward", 10'000'000, 0), 0);    // 1000 ns by its operations
  EXPECT_EQ(take("forward", 10'000, 300'000), 0);  // 3000 ns by its bytes
  EXPECT_EQ(take("backward", 0, 100'000), 0);
  pace.end_counting();
  EXPECT_EQ(take("forward", 10'000'000, 0), 500'000);
  EXPECT_EQ(take("parallel_apply", 0, 300'000), 1'500'000);
  EXPECT_EQ(take("optimizer", 0, 100'000), 4'000'000);
  EXPECT_EQ(take("reduce", 0, 100'000), 1000) << "no part of the measured phases";
  EXPECT_EQ(take(nullptr, 0, 100'000), 1000);
  EXPECT_THROW(pace.kernel({device, "forward", 1, 1, 9}), std::runtime_error);
}

TEST(ProfilePace, MessagesThatShareALinkTakeTurnsOnItAlone) {
  const auto hardware = hardware_of("v100-pcie");
  const tracer::PhaseTable& table = hardware->device_times->tables[0];
  ProfilePace pace(hardware, table, 8, [](int64_t) {});
  const auto at = [](int index) { return Device{DeviceType::emulated, index}; };
  const auto copy = [&](Device from, Device to, int64_t ready) {
    return pace.copy(from, to, 12'000, ready);  // 1 µs on each link
  };
  EXPECT_EQ(copy(at(0), at(1), 0).begin, 0);
  EXPECT_EQ(copy(at(0), at(2), 0).begin, 1000) << "device 0 sends one at a time";
  EXPECT_EQ(copy(at(3), at(1), 0).begin, 1000) << "device 1 receives one at a time";
  EXPECT_EQ(copy(at(1), at(0), 0).begin, 0) << "the other direction is free";
  EXPECT_EQ(copy(at(4), at(5), 0).begin, 0) << "so is the other switch";
  const runtime::Span far = copy(at(6), kHost, 500);
  EXPECT_EQ(far.end - far.begin, 1000 + 5'700) << "two links of 2.85 µs";
}

}  // namespace
}  // namespace lockstep::run
