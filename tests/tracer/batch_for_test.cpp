// --batch-for: the smallest batch that gives so many times the images/s of one device.
#include "tracer/emulate/batch_for.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "tests/tracer/golden.h"
#include "tests/tracer/twice_the_batch.h"

namespace lockstep::tracer {
namespace {

const Trace& recorded_alone() {
  static const Trace trace =
      read_trace(std::string(LOCKSTEP_SOURCE_DIR) + "/lessons/01-tape/trace.json.gz");
  return trace;
}

/// Larger batches pay: four times the images take two and a quarter times as long.
const Trace& with_batch_of(int64_t batch) {
  static const Trace sixteen = testing::twice_the_batch(recorded_alone(), 1.5);
  static const Trace thirty_two = testing::twice_the_batch(sixteen, 1.5);
  return batch == 8 ? recorded_alone() : batch == 16 ? sixteen : thirty_two;
}

ConstructedProgram on_two_devices(std::vector<const Trace*> further) {
  ConstructedProgram program;
  program.devices = 2;
  program.further = std::move(further);
  return program;
}

BatchFor search(double goal) {
  return batch_for(recorded_alone(), goal,
                   on_two_devices({&with_batch_of(32), &with_batch_of(16)}), {});
}

TEST(BatchFor, ParsesGains) {
  EXPECT_EQ(parse_gain("1.9x"), 1.9);
  EXPECT_EQ(parse_gain("3"), 3);
  for (const char* text : {"", "x", "0x", "-1", "1.9y", "1.9xx", "inf", "nan", "x1"}) {
    try {
      parse_gain(text);
      ADD_FAILURE() << text << " was parsed";
    } catch (const std::invalid_argument& error) {
      const std::string says = error.what();
      EXPECT_NE(says.find("--batch-for " + std::string(text) + ": not"), says.npos);
      EXPECT_NE(says.find("such as 1.9x"), says.npos);
    }
  }
}

// The program is constructed again with both batches: the answer reaches the goal, and
// one image less on each device does not.
TEST(BatchFor, BisectsToTheSmallestBatch) {
  const double small = search(0.1).points.front().gain,
               large = search(0.1).points.back().gain;
  ASSERT_LT(small, large);
  for (const double share : {0.2, 0.5, 0.9}) {
    const double goal = small + share * (large - small);
    const BatchFor found = search(goal);
    const BatchPoint* answer = found.answer();
    ASSERT_NE(answer, nullptr);
    EXPECT_GT(answer->batch, 16);
    EXPECT_LT(answer->batch, 64);
    EXPECT_GE(answer->gain, goal);
    const BatchPoint& before = *(answer - 1);
    EXPECT_EQ(before.batch, answer->batch - 2);
    EXPECT_LT(before.gain, goal);
    const std::string text = batch_for_text(found);
    EXPECT_NE(text.find("is reached with a batch of " + std::to_string(answer->batch)),
              text.npos)
        << text;
    EXPECT_NE(text.find("of the optimizer steps"), text.npos);
    EXPECT_EQ(batch_for_json(found)["batch"], answer->batch);
  }
}

TEST(BatchFor, SaysWhatIsNotReached) {
  const BatchFor found = search(50);
  EXPECT_EQ(found.answer(), nullptr);
  ASSERT_EQ(found.points.size(), 3u);  // the recorded batches alone
  const std::string text = batch_for_text(found);
  EXPECT_EQ(text.find("50x is not reached. Of the recorded batches, 64 (32 on each of "
                      "2 devices) gives most"),
            0u)
      << text;
  EXPECT_NE(text.find("fix: record a step of one device with a larger -b"), text.npos);
  EXPECT_EQ(text.find("optimizer steps"), text.npos);
  EXPECT_TRUE(batch_for_json(found)["batch"].is_null());
}

TEST(BatchFor, OneRecordedBatchIsOnePoint) {
  const BatchFor found = batch_for(recorded_alone(), 0.1, on_two_devices({}), {});
  ASSERT_EQ(found.points.size(), 1u);
  EXPECT_EQ(found.points[0].batch, 16);
  ASSERT_NE(found.answer(), nullptr);
  const std::string text = batch_for_text(found);
  EXPECT_NE(text.find("No smaller batch was recorded."), text.npos) << text;
}

// The gain counts images: twice as many in the same time as one device are 2x.
TEST(BatchFor, GainIsAgainstOneDeviceWithTheRecordedBatch) {
  const BatchFor found = search(0.1);
  EXPECT_EQ(found.batch_alone, 8);
  for (const BatchPoint& point : found.points) {
    EXPECT_DOUBLE_EQ(point.gain, static_cast<double>(point.batch) / 8 *
                                     static_cast<double>(found.step_alone) /
                                     static_cast<double>(point.step));
  }
}

}  // namespace
}  // namespace lockstep::tracer
