// Measured times of devices: as in the table, between its batches, never beyond them.
#include "tracer/emulate/hardware/measured_device.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "tracer/emulate/hardware/hardware.h"

namespace lockstep::tracer {
namespace {

std::string profile_of_v100() {
  std::ifstream stream(std::filesystem::path(LOCKSTEP_SOURCE_DIR) /
                       "tracer/emulate/hardware/v100-pcie.json");
  return {std::istreambuf_iterator<char>(stream), {}};
}

// mengwanguc/gpemu's times of VGG16 on a V100, in which 17 images take far longer than
// 16.
TEST(MeasuredDevice, TimesAreThoseOfTheTableOrBetweenTwoOfThem) {
  const Hardware v100 = parse_hardware(profile_of_v100(), "v100-pcie");
  const MeasuredDevice& device = *v100.device_times;
  const PhaseTable& table = table_of(device, "vgg16", 224);
  EXPECT_DOUBLE_EQ(times_of(device, table, 16).forward_ms, 27.92);
  EXPECT_DOUBLE_EQ(times_of(device, table, 17).forward_ms, 36.13);
  EXPECT_DOUBLE_EQ(times_of(device, table, 256).backward_ms, 706.39);
  EXPECT_DOUBLE_EQ(times_of(device, table, 96).forward_ms, (109.32 + 213.93) / 2);
  EXPECT_DOUBLE_EQ(times_of(device, table, 40).backward_ms,
                   99.05 + 0.25 * (185.07 - 99.05));
}

TEST(MeasuredDevice, NothingIsExtrapolated) {
  const Hardware v100 = parse_hardware(profile_of_v100(), "v100-pcie");
  const MeasuredDevice& device = *v100.device_times;
  const PhaseTable& table = table_of(device, "resnet50", 224);
  for (const int64_t batch : {0, 11, 257}) {
    try {
      times_of(device, table, batch);
      ADD_FAILURE() << batch;
    } catch (const std::runtime_error& error) {
      EXPECT_NE(std::string(error.what()).find("12, 32, 64, 128, 256"),
                std::string::npos)
          << error.what();
    }
  }
  EXPECT_THROW(table_of(device, "resnet50", 32), std::runtime_error);
  EXPECT_THROW(table_of(device, "resnet34", 224), std::runtime_error);
}

TEST(MeasuredDevice, DamagedTablesAreRefused) {
  const Json whole = Json::parse(profile_of_v100());
  const auto error_of = [&](const auto& damage) {
    Json json = whole;
    damage(json["device_times"]);
    try {
      parse_hardware(json.dump(), "damaged");
    } catch (const std::runtime_error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_EQ(error_of([](Json& times) { times["tables"][0]["batches"] = {12, 12}; }),
            "hardware profile damaged: `batches` of the table of resnet18 has an entry "
            "that is not larger than the one before");
  EXPECT_EQ(error_of([](Json& times) { times["tables"][1]["forward_ms"] = {1, 2}; }),
            "hardware profile damaged: the table of resnet50 has not one time for each "
            "of its batches");
  EXPECT_EQ(error_of([](Json& times) { times.erase("tflops"); }),
            "hardware profile damaged: `device_times` has no number `tflops` above 0; "
            "fix: add it");
  EXPECT_EQ(error_of([](Json& times) { times["tables"][0]["backward_ms"][0] = 0; }),
            "hardware profile damaged: `backward_ms` of the table of resnet18 has an "
            "entry that is not a number above 0");
}

}  // namespace
}  // namespace lockstep::tracer
