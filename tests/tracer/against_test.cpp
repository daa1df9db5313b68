// A prediction beside a recording. The numbers are those of minimal.json.
#include "tracer/emulate/against.h"

#include <gtest/gtest.h>

#include "tests/tracer/golden.h"
#include "tracer/emulate/emulate.h"
#include "tracer/format/index.h"

namespace lockstep::tracer {
namespace {

Trace minimal() { return read_trace(testing::minimal_path()); }

const PredictedTime& row(const Against& result, std::string_view what) {
  for (const PredictedTime& time : result.times) {
    if (time.what == what) return time;
  }
  ADD_FAILURE() << "no row " << what;
  return result.times.at(0);
}

TEST(Against, ATraceBesideItselfHasNoError) {
  const Against result = against(minimal(), minimal());
  ASSERT_FALSE(result.times.empty());
  EXPECT_EQ(result.times[0].what, "one step");
  for (const PredictedTime& time : result.times) {
    EXPECT_EQ(time.predicted, time.recorded) << time.what;
    EXPECT_EQ(time.error(), 0) << time.what;
  }
  EXPECT_EQ(result.worst_kernels.what, "");  // none differs
  EXPECT_EQ(against_text(result, "m.json").find("differ most"), std::string::npos);
}

TEST(Against, SaysWhichKernelsDifferMost) {
  Trace slower = minimal();
  for (Event& event : slower.events) {
    if (event.is(categories::kernel) && event.name == "AddmmBackward0") {
      event.dur *= 3;
      event.args[keys::cpu_us] = static_cast<double>(event.dur) / 1e3;
    }
  }
  EmulateOptions own;
  const Against result = against(emulate(slower, own), emulate(minimal(), own));
  EXPECT_EQ(result.worst_kernels.what, "AddmmBackward0");
  EXPECT_GT(result.worst_kernels.predicted, result.worst_kernels.recorded);
  EXPECT_GT(row(result, "backward").error(), 0);
  EXPECT_EQ(row(result, "scatter").error(), 0);
  const std::string text = against_text(result, "m.json");
  EXPECT_NE(text.find("The kernels of AddmmBackward0 differ most"), text.npos) << text;
}

// A device that comes late makes a phase longer, but not the work on a device.
TEST(Against, ADeviceThatIsLateDoesNoMoreWork) {
  Trace late = minimal();
  for (Event& event : late.events) {
    const bool in_forward = event.is(categories::kernel) &&
                            string_arg(event.args, keys::phase) == "parallel_apply";
    if (in_forward && int_arg(event.args, keys::device) == 1) event.ts += 5'000;
  }
  const Against result = against(minimal(), late);
  const PredictedTime& forward = row(result, "parallel_apply");
  EXPECT_LT(forward.error(), 0);
  EXPECT_GT(forward.recorded_each, 0);
  EXPECT_EQ(forward.error_each(), 0);
}

TEST(Against, ACollectiveCountsWhileItsMessagesMove) {
  const Trace ddp = read_trace(testing::minimal_ddp_path());
  const Against result = against(ddp, ddp);
  const PredictedTime& sum = row(result, "all_reduce");
  EXPECT_EQ(sum.recorded_each, 4'000) << "two messages of 2 µs each to a rank";
  EXPECT_GT(sum.recorded, 4'000);
  EXPECT_EQ(sum.error_each(), 0);
}

// Devices that had to share cores are not what is predicted.
TEST(Against, SaysWhenTheRecordedDevicesSharedCores) {
  Against result = against(minimal(), minimal());
  result.waiting = 0.05;
  EXPECT_EQ(against_text(result, "m").find("waited for a core"), std::string::npos);
  result.waiting = 0.5;
  EXPECT_NE(against_text(result, "m").find("waited for a core during 50 %"),
            std::string::npos);

  Trace waited = minimal();
  for (Event& event : waited.events) {
    if (event.is(categories::kernel)) event.args[keys::queued_us] = 1e6;
  }
  EXPECT_GT(against(minimal(), waited).waiting, 1);
}

TEST(Against, RefusesARecordingOfSomethingElse) {
  const Trace ddp = read_trace(testing::minimal_ddp_path());
  EXPECT_THROW(
      {
        try {
          against(minimal(), ddp);
        } catch (const std::runtime_error& error) {
          EXPECT_NE(std::string(error.what()).find("the prediction is of mode dp, but"),
                    std::string::npos);
          throw;
        }
      },
      std::runtime_error);
}

TEST(Against, PrintsTheSameNumbersAsJson) {
  const Against result = against(minimal(), minimal());
  const Json json = against_json(result);
  EXPECT_EQ(json["times"].size(), result.times.size());
  EXPECT_EQ(json["times"][0]["predicted_us"], result.times[0].predicted / 1e3);
}

}  // namespace
}  // namespace lockstep::tracer
