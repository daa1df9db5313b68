// How much of a collective is hidden: the same numbers as `trace summary`, the closed
// form of a hand-written trace, what is said of them, and `--at '2:bucket 0'`.
#include "gui/model/collectives.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/units.h"
#include "gui/model/breakdown.h"
#include "gui/model/details.h"
#include "gui/model/position.h"
#include "tests/gui/model/narrated.h"
#include "tests/gui/model/valid.h"
#include "tracer/analysis/summary.h"

namespace lockstep::gui {
namespace {

using namespace test;  // NOLINT

std::string lesson(const std::string& name) {
  return std::string(LOCKSTEP_SOURCE_DIR) + "/lessons/" + name + "/trace.json.gz";
}

using Split =
    std::tuple<std::string, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, bool>;

Split split_fields(const tracer::CollectiveTime& time) {
  return {time.what,     time.bucket,  time.bytes,        time.took,
          time.backward, time.exposed, time.exposed_wait, time.unseen};
}

void expect_the_summarys_splits(const std::string& path) {
  SCOPED_TRACE(path);
  const Model model = load_file(path);
  const tracer::Summary summary = tracer::summarize(tracer::read_trace(path));
  for (const tracer::StepSummary& step : summary.train.steps) {
    size_t number = 0;
    while (model.steps[number].number != step.step) ++number;
    for (int rank = 0; rank < model.ranks(); ++rank) {
      std::vector<Split> expected, own;
      for (const tracer::CollectiveTime& time : step.collectives) {
        if (time.rank == rank) expected.push_back(split_fields(time));
      }
      for (const CollectiveRow& row : collectives_of(model, number, rank)) {
        own.push_back(split_fields(row.time));
      }
      std::sort(expected.begin(), expected.end());
      std::sort(own.begin(), own.end());
      EXPECT_FALSE(own.empty());
      EXPECT_EQ(own, expected) << "step " << step.step << ", rank " << rank;
    }
  }
}

TEST(Collectives, AreDividedAsInTheSummary) {
  expect_the_summarys_splits(golden() / "viewer/ddp.json.gz");
  expect_the_summarys_splits(golden() / "minimal_ddp.json");
  expect_the_summarys_splits(lesson("12-ddp-buckets"));
}

/// Bucket 0: 15 µs, 5 of them behind backward, 2 behind a copy, 8 exposed. Bucket 1 is
/// hidden. Times in µs.
Made with_two_buckets(bool covered = false) {
  Made made("ddp");
  made.x("phase", "step", 0, 0, 100, R"("kind":"train")")
      .x("kernel", "a", 1, 0, 4, R"("phase":"backward")")
      .x("kernel", "b", 1, 4, 6, R"("phase":"backward")")
      .x("collective", "all_reduce", 1, 5, 15,
         R"("collective":"all_reduce","why":"all_reduce","bucket":0,"seq":0,)"
         R"("tensor":"bucket 0","bytes":40,"deps":[2])")
      .x("kernel", "copy", 1, 12, 2, R"("phase":"all_reduce")")
      .x("kernel", "d", 1, 30, 10, R"("phase":"backward")")
      .x("collective", "all_reduce", 1, 30, 4,
         R"("collective":"all_reduce","why":"all_reduce","bucket":1,"seq":1,)"
         R"("tensor":"bucket 1","bytes":80,"deps":[999])");
  if (covered) made.x("kernel", "e", 1, 0, 30, R"("phase":"optimizer")");
  return made;
}

TEST(Collectives, OfAHandWrittenTrace) {
  const Model model = with_two_buckets().model();
  const auto rows = collectives_of(model, 0, 0);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].name(), "bucket 0");
  EXPECT_EQ(rows[0].time.bytes, 40);
  EXPECT_EQ(rows[0].time.backward, 5'000);
  EXPECT_EQ(rows[0].time.others(), 2'000);
  EXPECT_EQ(rows[0].time.exposed, 8'000);
  EXPECT_EQ(rows[0].ready, 4'000);
  EXPECT_TRUE(rows[0].has_phases);
  EXPECT_EQ(rows[1].time.exposed, 0);
  EXPECT_EQ(rows[1].ready, tracer::kNone) << "an event that the trace lacks";
  EXPECT_EQ(most_exposed(model, rows), std::optional<size_t>(0));
  EXPECT_EQ(exposed_words(model, rows),
            "**Bucket 0** is exposed for **8.00 µs** of 15.0 µs: no kernel of this "
            "device ran then. How much of that is **waiting for another rank** is "
            "unknown: the times of its messages were not measured. The other 7.00 µs "
            "are hidden: 5.00 µs behind backward, "
            "2.00 µs behind other kernels.");
}

TEST(Collectives, WaitingForARankIsNotCommunication) {
  const Model model = load_file(golden() / "minimal_ddp.json");
  const auto rows = collectives_of(model, 0, 0);
  ASSERT_FALSE(rows.empty());
  EXPECT_EQ(rows[0].time.exposed_wait, 3'500) << "messages move for 4.5 of 8 µs";
  const std::string text = exposed_words(model, rows);
  EXPECT_NE(text.find("**3.50 µs** of that is waiting for other ranks"),
            std::string::npos)
      << text;
}

TEST(Collectives, TheLastRankIsNamed) {
  const Model model = load_file(golden() / "minimal_ddp.json");
  const auto words = [&](int rank) {
    return exposed_words(model, collectives_of(model, 0, rank));
  };
  const std::string first = words(0), second = words(1);
  EXPECT_NE(first.find("**Rank 1** started it last, **250 ns** after this rank."),
            std::string::npos)
      << first;
  EXPECT_NE(second.find("This rank started it last."), std::string::npos) << second;
}

TEST(Collectives, TheMostExposedOfEachStepIsNamed) {
  const std::string path = lesson("09-ring");
  const Model model = load_file(path);
  const tracer::Summary summary = tracer::summarize(tracer::read_trace(path));
  ASSERT_GE(summary.train.steps.size(), 2u);
  std::string expected;
  for (const tracer::StepSummary& step : summary.train.steps) {
    int64_t most = 0;
    for (const tracer::CollectiveTime& time : step.collectives) {
      if (time.rank == 1 && time.bucket >= 0) most = std::max(most, time.exposed);
    }
    expected += fmt::format("{}step {}: bucket 0, {}", expected.empty() ? "" : "; ",
                            step.step, human_time(most));
  }
  EXPECT_EQ(exposed_by_step(model, 1),
            "This rank's most exposed by step: " + expected + ".");
  EXPECT_EQ(exposed_by_step(load_file(golden() / "minimal_ddp.json"), 0), "");
}

TEST(Collectives, TheMostExposedRankIsNamed) {
  tracer::StepSummary step;
  const auto add = [&](int64_t rank, int64_t bucket, int64_t exposed) {
    tracer::CollectiveTime time;
    time.rank = rank;
    time.bucket = bucket;
    time.what = bucket < 0 ? "buffers" : fmt::format("bucket {}", bucket);
    time.exposed = exposed;
    step.collectives.push_back(time);
  };
  add(0, 0, 1'000'000);
  EXPECT_EQ(most_exposed_rank(step), "");  // one rank
  add(1, 1, 3'000'000);
  add(1, tracer::kNone, 9'000'000);  // the buffers: no bucket
  add(2, 1, 2'000'000);
  EXPECT_EQ(
      most_exposed_rank(step),
      "Of all 3 ranks in this step, the longest: **bucket 1** of **rank 1**, exposed "
      "for "
      "**3.00 ms**.");
  for (tracer::CollectiveTime& time : step.collectives) time.exposed = 0;
  EXPECT_EQ(most_exposed_rank(step), "");
}

TEST(Collectives, NothingIsExposedBehindKernels) {
  const Model model = with_two_buckets(true).model();
  const auto rows = collectives_of(model, 0, 0);
  EXPECT_EQ(most_exposed(model, rows), std::nullopt);
  EXPECT_EQ(
      exposed_words(model, rows),
      "**No bucket is exposed**: kernels of this device ran all the time while one "
      "was in flight.");
}

TEST(Collectives, WithoutPhasesBackwardIsUnknown) {
  Made made("ddp");
  made.x("phase", "step", 0, 0, 100, "")
      .x("kernel", "a", 1, 0, 4, "")
      .x("collective", "all_reduce", 1, 2, 8, R"("why":"all_reduce","bucket":0)");
  const Model model = made.model();
  const auto rows = collectives_of(model, 0, 0);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_FALSE(rows[0].has_phases);
  EXPECT_EQ(rows[0].ready, tracer::kNone);
  const std::string text = exposed_words(model, rows);
  EXPECT_NE(text.find("of which phase is unknown"), std::string::npos) << text;
  EXPECT_EQ(text.find("behind backward"), std::string::npos) << text;
}

TEST(Collectives, OfNullDevicesHaveBytesAndNoTimes) {
  Model model = with_two_buckets().model();
  for (Device& device : model.devices) device.name = "null:0";
  const auto rows = collectives_of(model, 0, 0);
  EXPECT_EQ(rows.at(1).time.bytes, 80);
  EXPECT_EQ(most_exposed(model, rows), std::nullopt);
  EXPECT_NE(exposed_words(model, rows).find("there are no times"), std::string::npos);
}

TEST(Collectives, ATraceWithoutThemSaysWhatToOpen) {
  const Model model = load_file(golden() / "viewer/dp.json.gz");
  const auto rows = collectives_of(model, 0, 0);
  EXPECT_TRUE(rows.empty());
  const std::string text = exposed_words(model, rows);
  EXPECT_NE(text.find("no collectives"), std::string::npos) << text;
  EXPECT_NE(text.find("--mode ddp"), std::string::npos) << text;
}

TEST(Collectives, ABucketIsAPlace) {
  const Model model = load_file(golden() / "viewer/ddp.json.gz");
  for (const int rank : {0, 2}) {
    std::string why;
    const std::string at = "rank" + std::to_string(rank) + ":2:bucket 0";
    const auto position = parse_position(model, at, why);
    ASSERT_TRUE(position.has_value()) << why;
    const uint32_t event = event_at(model, *position);
    EXPECT_EQ(model.events[event].what(), Kind::collective);
    EXPECT_EQ(model.events[event].step, 2u);
    EXPECT_EQ(model.rank_of(event), rank);
    EXPECT_EQ(CollectiveArgs(model, event).facts.bucket, 0);
  }
}

TEST(Collectives, AnUnknownBucketIsAnErrorThatNamesTheOthers) {
  const Model model = with_two_buckets().model();
  std::string why;
  EXPECT_FALSE(parse_position(model, "3:bucket 7", why));
  EXPECT_EQ(why, "step 3 has no bucket 7; fix: name one that it has: 0, 1");
  const Model dp = load_file(golden() / "viewer/dp.json.gz");
  EXPECT_FALSE(parse_position(dp, "2:bucket 0", why));
  EXPECT_EQ(why,
            "step 2 has no bucket 0: it has no buckets; fix: open a trace of --mode "
            "ddp");
}

TEST(Collectives, TheNarrationSaysTheSameSplit) {
  const Model model = load_file(lesson("12-ddp-buckets"));
  size_t said = 0;
  for (const CollectiveRow& row : collectives_of(model, 0, 0)) {
    if (!row.is_bucket()) continue;
    const State state = state_at(model, at_event(model, row.event));
    const std::string text = narrate(model, state, break_down(model, 0)).text;
    const auto says = [&](const std::string& words, int64_t time) {
      const bool found = text.find(words + human_time(time)) != std::string::npos;
      EXPECT_EQ(found, time > 0) << text;
      said += found;
    };
    says("behind backward: ", row.time.backward);
    says("Behind other kernels: ", row.time.others());
    says("without any kernel: ", row.time.exposed);
  }
  EXPECT_GT(said, 0u);
}

TEST(Breakdown, APhasesTimeIsThatOfOneRank) {
  const std::string rank = R"("phase":"forward","rank":)";
  Made made("hogwild");
  made.x("phase", "step", 0, 0, 100, R"("kind":"train","rank":0)")
      .x("kernel", "a", 1, 10, 5, rank + "0")
      .x("kernel", "b", 2, 60, 20, rank + "1");
  const Model model = made.model();
  ASSERT_EQ(model.ranks(), 2);
  const Breakdown step = break_down(model, 0);
  EXPECT_EQ(step.rank_time(model, 0, "forward"), 5'000);
  EXPECT_EQ(step.rank_time(model, 1, "forward"), 20'000);
  EXPECT_EQ(step.rank_time(model, 1, "backward"), 0);
}

TEST(Model, AServerRunsNoSteps) {
  const auto made = [](const char* mode) {
    Made made(mode);
    made.x("phase", "step", 0, 0, 100, R"("kind":"train","rank":0)")
        .x("kernel", "a", 1, 10, 5, R"("rank":0)")
        .x("kernel", "b", 2, 60, 20, R"("rank":1)");
    return made.model();
  };
  EXPECT_EQ(made("ps").servers(), 1);
  EXPECT_EQ(made("hogwild").servers(), 0);
}

}  // namespace
}  // namespace lockstep::gui
