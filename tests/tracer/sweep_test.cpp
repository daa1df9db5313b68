// Tables over constructed programs.
#include "tracer/emulate/sweep.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <numeric>

#include "tests/tracer/golden.h"
#include "tracer/emulate/best_buckets.h"
#include "tracer/emulate/hardware/hardware.h"
#include "tracer/emulate/knees.h"

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

// The speed-up is against the recorded batch, and CSV names the batch once.
TEST(Sweep, OverBatches) {
  const Trace trace = step_of_one_device();
  ConstructedProgram program{.devices = 2};
  const int64_t recorded = sweep(trace, {parse_sweep("devices=1")}, {}, {})[0].batch;
  const auto axis = parse_sweep(fmt::format("batch-size={}", 2 * recorded));
  const auto points = sweep(trace, {axis}, program, {});
  ASSERT_EQ(points.size(), 1u);
  EXPECT_EQ(points[0].batch, 2 * recorded);
  EXPECT_EQ(points[0].batch_alone, recorded);
  EXPECT_EQ(sweep_csv({axis}, points).substr(0, 14), "devices,batch,");
  EXPECT_THROW(sweep(trace, {parse_sweep("batch-size=2000")}, program, {}),
               std::runtime_error)
      << "not recorded";
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
  point.batch = 32;
  point.batch_alone = 8;
  point.alone = 100;
  point.step = 200;
  EXPECT_EQ(point.speed_up(), 2);
  const std::string rows = sweep_text({{"devices", {4}}}, {point});
  EXPECT_NE(rows.find("2.00x"), rows.npos);
  EXPECT_NE(rows.find("50 %"), rows.npos);
}

// Of more ranks than have messages, there is no answer.
TEST(Sweep, InterferenceNeedsMessages) {
  const Trace trace = step_of_one_device();
  const auto points = sweep(trace, {parse_sweep("interference=1,2")}, {}, {});
  EXPECT_GT(points[1].step, points[0].step);
  EXPECT_EQ(points[1].alone, points[0].alone);  // no collectives
  const auto why = [&](const ConstructedProgram& program, double interference) {
    EmulateOptions options;
    options.interference = interference;
    try {
      sweep(trace, {parse_sweep("devices=65")}, program, options);
    } catch (const std::runtime_error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const Hardware hardware;
  ConstructedProgram on_hardware, in_trees;
  on_hardware.hardware = &hardware;
  in_trees.all_reduce = "tree";
  EXPECT_EQ(why({}, 2).rfind("--interference needs an event for each message", 0), 0u);
  EXPECT_EQ(why(on_hardware, 1).rfind("--hardware needs an event", 0), 0u);
  EXPECT_EQ(why(in_trees, 1).rfind("--all-reduce tree needs an event", 0), 0u);
  EXPECT_EQ(why({}, 1), "");
}

TEST(Sweep, CsvHasTheNumbersOfTheTable) {
  SweepPoint point;
  point.values = {1.5, 4};
  point.devices = 4;
  point.alone = 1'000'000;
  point.step = 2'000'000;
  point.batch = 32;
  point.batch_alone = 8;
  EXPECT_EQ(sweep_csv({{"link-gb-per-s", {1.5}}, {"devices", {4}}}, {point}),
            "link-gb-per-s,devices,batch,step_us,one_device_step_us,images_per_s,"
            "speed_up\n1.5,4,32,2000.000,1000.000,16000,2\n");
}

/// A curve over 1, 2, 4, … devices with these speed-ups.
SpeedUpCurve curve_with(const std::vector<double>& speed_ups) {
  SpeedUpCurve curve;
  for (size_t i = 0; i < speed_ups.size(); ++i) {
    SweepPoint point;
    point.devices = 1 << i;
    point.batch = point.devices;
    point.batch_alone = 1;
    point.alone = 1'000'000;
    point.step = static_cast<int64_t>(1e6 * point.devices / speed_ups[i]);
    curve.points.push_back(point);
  }
  return curve;
}

TEST(Knees, OfASpeedUpThatFalls) {
  const SpeedUpCurve curve = curve_with({1, 1.9, 3.4, 4.6, 3.8});
  const Knees knees = knees_of(curve);
  ASSERT_TRUE(knees.bend);
  EXPECT_EQ(knees.bend->from, 4);
  EXPECT_EQ(knees.bend->to, 8);
  EXPECT_NEAR(knees.bend->added, 0.3, 1e-4);
  EXPECT_EQ(knees.fastest, 8);
  EXPECT_FALSE(knees.still_rises);
  EXPECT_EQ(knees.half_lost, 16);
  EXPECT_EQ(
      knees_text({curve}),
      "From 4 to 8, each further device adds 0.30 of a device: here it first adds less "
      "than half of one. The speed-up is highest with 8 devices: 4.60x; more make it "
      "no faster. With 16 devices, the efficiency is below 50 %: more than half of "
      "their time is lost.\n");
}

TEST(Knees, OfASpeedUpThatRises) {
  const SpeedUpCurve curve = curve_with({1, 2, 3.9});
  EXPECT_EQ(knees_text({curve}),
            "Between all computed points, each further device adds at least half a "
            "device. The speed-up still rises at 4 devices, the most that were "
            "computed: 3.90x. The efficiency is at least 50 % up to 4 devices.\n");
  EXPECT_EQ(knees_text({curve_with({1})}), "");
}

TEST(Knees, OfASecondDeviceThatCosts) {
  const std::string text = knees_text({curve_with({1, 0.8})});
  EXPECT_EQ(text.find("Device 2 costs 0.20 of a device, the first that adds less than "
                      "half of one. The speed-up is highest with 1 device: 1.00x"),
            0u)
      << text;
}

// Points arrive in the order of the axes, and a number of devices may be given twice.
TEST(Knees, EachCombinationOfOtherValuesIsACurve) {
  const std::vector<SweepAxis> axes{{"devices", {4, 1, 4}}, {"link-gb-per-s", {1, 12}}};
  std::vector<SweepPoint> points;
  for (const double devices : axes[0].values) {
    for (const double link : axes[1].values) {
      SweepPoint& point = points.emplace_back();
      point.values = {devices, link};
      point.devices = static_cast<int>(devices);
      point.alone = point.step = 10;
    }
  }
  const auto curves = speed_up_curves(axes, points);
  ASSERT_EQ(curves.size(), 2u);
  EXPECT_EQ(curves[1].what, "link-gb-per-s=12");
  ASSERT_EQ(curves[1].points.size(), 2u);
  EXPECT_EQ(curves[1].points[0].devices, 1);
  EXPECT_EQ(curves[1].points[1].devices, 4);
  EXPECT_TRUE(speed_up_curves({axes[1]}, points).empty());
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
