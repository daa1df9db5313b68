// Tables over constructed programs.
#include "tracer/emulate/sweep.h"

#include <gtest/gtest.h>

#include <numeric>

#include "tests/tracer/golden.h"
#include "tracer/emulate/best_buckets.h"

namespace lockstep::tracer {
namespace {

Trace step_of_one_device() {
  return read_trace(std::string(LOCKSTEP_SOURCE_DIR) +
                    "/lessons/01-tape/trace.json.gz");
}

TEST(Sweep, ParsesListsAndDoublings) {
  EXPECT_EQ(parse_sweep("devices=3,1").values, (std::vector<double>{3, 1}));
  EXPECT_EQ(parse_sweep("devices=1..8").values, (std::vector<double>{1, 2, 4, 8}));
  EXPECT_EQ(parse_sweep("devices=1..6").values, (std::vector<double>{1, 2, 4, 6}));
  EXPECT_EQ(parse_sweep("link-gb-per-s=0.5..1").values, (std::vector<double>{0.5, 1}));
  EXPECT_EQ(parse_sweep("compute-scale=7").option, "compute-scale");
}

TEST(Sweep, NamesWhatCannotBeSwept) {
  for (const auto& [text, says] :
       {std::pair{"devices", "has no '='"},
        {"batch=1", "'batch' cannot be swept; fix: pass OPTION=A,B,C"},
        {"devices=1.5", "'1.5' is not a whole number"},
        {"devices=0..2", "'0' is not a whole number"},
        {"devices=4..2", "A..B needs 0 < A"},
        {"link-gb-per-s=0..2", "A..B needs 0 < A"},
        {"devices=1,,2", "'' is not a number"},
        {"link-gb-per-s=1e9", "'1e9' is not a number from 0 to 1000000"},
        {"link-gb-per-s=nan", "'nan' is not a number"}}) {
    try {
      parse_sweep(text);
      ADD_FAILURE() << text << " was parsed";
    } catch (const std::invalid_argument& error) {
      EXPECT_NE(std::string(error.what()).find(says), std::string::npos)
          << error.what();
    }
  }
}

// Each point is the program that --mode and --devices construct, alone.
TEST(Sweep, HasAPointForEachCombination) {
  const Trace trace = step_of_one_device();
  const std::vector<SweepAxis> axes{parse_sweep("devices=1,3"),
                                    parse_sweep("link-gb-per-s=0.1,12")};
  const auto points = sweep(trace, axes, {}, {});
  ASSERT_EQ(points.size(), 4u);
  EXPECT_EQ(points[1].values, (std::vector<double>{1, 12}));
  EXPECT_EQ(points[2].values, (std::vector<double>{3, 0.1}));
  EXPECT_EQ(points[3].devices, 3);
  EXPECT_EQ(points[3].batch, 3 * points[0].batch);
  EXPECT_GT(points[2].step, points[3].step);    // slower links
  EXPECT_GE(points[2].alone, points[3].alone);  // its batch is copied, too
  for (const SweepPoint& point : points) EXPECT_LT(point.speed_up(), point.devices);
  const std::string grid = sweep_text(axes, points);
  EXPECT_NE(grid.find("speed-up by devices (down) and link-gb-per-s (across)"),
            grid.npos);
  EXPECT_EQ(sweep_json(axes, points)[3]["devices"], 3);
}

TEST(Sweep, SpeedUpIsAgainstTheRecordedStep) {
  SweepPoint point;
  point.devices = 4;
  point.alone = 100;
  point.step = 200;
  EXPECT_EQ(point.speed_up(), 2);
  const std::string rows = sweep_text({{"devices", {4}}}, {point});
  EXPECT_NE(rows.find("2.00x"), rows.npos);
  EXPECT_NE(rows.find("50 %"), rows.npos);
}

// Where links are slow and starts are cheap, small last buckets pay.
TEST(BestBuckets, AreNoSlowerThanTheGivenOnes) {
  const Trace trace = step_of_one_device();
  EmulateOptions options;
  options.link = {0.05, 1};
  ConstructedProgram program;
  program.devices = 4;
  const BucketChoices choices = best_buckets(trace, program, options);
  EXPECT_EQ(choices.given.bytes.size(), 3u);
  EXPECT_EQ(
      std::accumulate(choices.best.bytes.begin(), choices.best.bytes.end(), 0ll),
      std::accumulate(choices.given.bytes.begin(), choices.given.bytes.end(), 0ll));
  EXPECT_GT(choices.cost(), 0);
  EXPECT_LT(choices.best.after_backward, choices.given.after_backward);
  EXPECT_NE(best_buckets_text(choices, program).find("Buckets of 25 MiB cost "),
            std::string::npos);
  // Nothing is said to be gained where nothing is.
  EXPECT_NE(best_buckets_text({choices.best, choices.given}, program)
                .find("do not make the step shorter"),
            std::string::npos);
}

}  // namespace
}  // namespace lockstep::tracer
