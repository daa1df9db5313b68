// The values of `trace summary` for each rank, compared with values counted manually in
// tests/golden/minimal_ddp.json.
#include "tests/tracer/named_trace.h"
#include "tracer/analysis/summary.h"

namespace lockstep::tracer {
namespace {

using namespace testing;  // NOLINT

Trace with_slower_rank_1() {
  Trace trace = read_trace(minimal_ddp_path());
  event_at(trace, NamedTrace(trace), "rank 1/step 0").dur += 5'000;
  return trace;
}

TEST(RankSummary, EachRankHasItsOwnStepAndWaiting) {
  const auto ranks = summarize(with_slower_rank_1()).train.mean_ranks();
  ASSERT_EQ(ranks.size(), 2u);
  EXPECT_EQ(ranks[0].rank, 0);
  EXPECT_EQ(ranks[0].length, 60'000);
  EXPECT_EQ(ranks[1].length, 65'000);
  EXPECT_EQ(ranks[0].together.took, 3'000 + 8'000);
  EXPECT_EQ(ranks[0].together.transfer, 4'000) << "it sent the broadcast";
  EXPECT_EQ(ranks[1].together.transfer, 1'000 + 4'000);
  EXPECT_EQ(ranks[0].together.wait, 7'000);
  EXPECT_EQ(ranks[1].together.wait, 6'000);
  EXPECT_EQ(ranks[0].together.exposed, 11'000);
}

TEST(RankSummary, JsonHasEachCollectiveOfEachRank) {
  const Json json = summary_json(summarize(with_slower_rank_1()))["train"];
  const Json& step = json["steps"][0];
  EXPECT_DOUBLE_EQ(step["rank_seconds"]["0"], 60e-6);
  EXPECT_DOUBLE_EQ(step["rank_seconds"]["1"], 65e-6);
  EXPECT_DOUBLE_EQ(step["seconds"], 65.25e-6) << "from the first start to the last end";
  ASSERT_EQ(step["collectives"].size(), 4u);
  const Json& bucket = step["collectives"][3];
  EXPECT_EQ(bucket["rank"], 1);
  EXPECT_EQ(bucket["what"], "bucket 0");
  EXPECT_DOUBLE_EQ(bucket["transfer"], 4e-6);
  EXPECT_DOUBLE_EQ(bucket["wait"], 4e-6);
  EXPECT_EQ(json["ranks"].size(), 2u);
  EXPECT_DOUBLE_EQ(json["ranks"][1]["wait"], 6e-6);
  EXPECT_DOUBLE_EQ(json["ranks"][1]["exposed"], 11e-6);
  EXPECT_DOUBLE_EQ(json["ranks"][1]["exposed_wait"], 3e-6 + 8e-6 - 1e-6 - 4.5e-6);
}

TEST(RankSummary, TextNamesTheSlowest) {
  const std::string text = summary_text(summarize(with_slower_rank_1()));
  EXPECT_NE(text.find("the slowest step is rank 1's"), std::string::npos) << text;
  EXPECT_NE(text.find("65.0 µs"), std::string::npos);
  const std::string alone = summary_text(summarize(read_trace(minimal_path())));
  EXPECT_EQ(alone.find("slowest step"), std::string::npos) << "not for a single rank";
}

TEST(RankSummary, ModelledMessagesTellNothingOfWaiting) {
  Trace trace = with_slower_rank_1();
  for (Event& event : trace.events) {
    if (event.is("copy") && event.args.contains("seq")) event.args["modelled"] = true;
  }
  const Summary summary = summarize(trace);
  const Json json = summary_json(summary)["train"];
  EXPECT_TRUE(json["steps"][0]["collectives"][3]["wait"].is_null());
  EXPECT_TRUE(json["ranks"][1]["transfer"].is_null());
  EXPECT_DOUBLE_EQ(json["ranks"][1]["seconds"], 11e-6);
  const std::string text = summary_text(summary);
  EXPECT_TRUE(json["ranks"][1]["exposed_wait"].is_null());
  EXPECT_NE(text.find("no conclusion: the times of messages were not measured"),
            std::string::npos);
  EXPECT_EQ(text.find("waits least"), std::string::npos) << text;
}

TEST(RankSummary, WithoutCollectivesNobodyIsSaidToWait) {
  Trace trace = with_slower_rank_1();
  EXPECT_NE(summary_text(summarize(trace)).find("waits least"), std::string::npos);
  std::erase_if(trace.events, [](const Event& event) {
    return event.is("collective") || event.args.contains("seq");
  });
  const std::string text = summary_text(summarize(trace));
  EXPECT_EQ(text.find("waits least"), std::string::npos) << text;
  EXPECT_NE(
      text.find("the slowest step is rank 1's. Means over steps; the ranks run no"),
      std::string::npos)
      << text;
}

TEST(RankSummary, RebuiltBucketsAreToldApartByTheirSteps) {
  StepSummary first, second, third;
  for (StepSummary* step : {&first, &second, &third}) {
    step->length = 10;
    CollectiveTime bucket;
    bucket.bucket = 0;
    bucket.what = "bucket 0";
    bucket.bytes = step == &first ? 100 : 200;
    bucket.took = 4;
    step->collectives = {bucket};
  }
  second.step = 1;
  third.step = 2;
  Summary summary;
  summary.train.steps = {first, second, third};
  const std::string text = summary_text(summary);
  EXPECT_NE(text.find("  bucket 0, step 0 "), std::string::npos) << text;
  EXPECT_NE(text.find("  bucket 0, 1 to 2 "), std::string::npos) << text;
  summary.train.steps = {second, third};
  const std::string later = summary_text(summary);
  EXPECT_NE(later.find("  bucket 0  "), std::string::npos) << later;
  EXPECT_EQ(later.find("bucket 0, "), std::string::npos) << later;
}

}  // namespace
}  // namespace lockstep::tracer
