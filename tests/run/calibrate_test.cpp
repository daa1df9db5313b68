// `emulate --calibrate`: short runs become a profile that --hardware reads.
#include "run/calibrate.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "run/environment.h"
#include "tracer/emulate/hardware/hardware.h"
#include "tracer/format/file_io.h"

namespace lockstep::run {
namespace {

namespace fs = std::filesystem;

TEST(CalibrateMachine, WritesAProfileThatNamesItsRuns) {
  CalibrateOptions options;
  options.out = fs::temp_directory_path() / (std::to_string(::getpid()) + "-here.json");
  options.batch = 1;
  options.rounds = 1;
  const std::string text = calibrate_machine(options);
  const tracer::Hardware hardware =
      tracer::parse_hardware(tracer::read_whole_file(options.out), options.out);
  fs::remove(options.out);
  EXPECT_EQ(hardware.devices, 8);
  EXPECT_EQ(hardware.kinds.size(), 2u);
  EXPECT_GE(hardware.host.replica_us_per_parameter, 0);
  EXPECT_NE(hardware.source.find("resnet18, batch 1 on each of 1, 2 and 3 cpu devices"),
            std::string::npos)
      << hardware.source;
  EXPECT_NE(text.find(hardware.source), std::string::npos) << text;
}

TEST(CalibrateMachine, NeedsDevicesThatCompute) {
  CalibrateOptions options;
  options.out = fs::temp_directory_path() / (std::to_string(::getpid()) + "-no.json");
  options.device = DeviceType::null;
  EXPECT_THROW(calibrate_machine(options), UsageError);
  EXPECT_FALSE(fs::exists(options.out));
}

}  // namespace
}  // namespace lockstep::run
