#include <gtest/gtest.h>

#include <algorithm>

#include "experiments/batch_size.h"
#include "experiments/imagenet.h"

namespace lockstep::experiments {
namespace {

Log log_of(int64_t iterations, double seconds, std::optional<double> acc1 = {}) {
  Log log;
  log.epochs.emplace_back();
  EpochLog& epoch = log.epochs[0];
  epoch.all = {iterations + 1, 99 + seconds * static_cast<double>(iterations), 0};
  epoch.first = {1, 99, 0};
  epoch.times = {99, seconds / 2, seconds * 2};
  epoch.acc1 = 90;
  epoch.test_acc1 = acc1;
  return log;
}

TEST(ImageNetRuns, OfEmulatedDevicesMakeTheirImagesAndHaveThreadsAsRanks) {
  const auto runs = imagenet_runs({"resnet50", "", 1, 2345, {"--steps", "6"}, true});
  EXPECT_EQ(typed(runs[5].words),
            "train -a resnet50 --lr 0.01 --batch-size 1024 --workers 2 --mode ddp "
            "--steps 6");
}

TEST(ImageNetTable, RunsHaveTheSeedsNamesAndWords) {
  const auto runs = imagenet_runs({"resnet50", "imagenet", 1, 2345, {"--epochs", "1"}});
  std::string names;
  for (const auto& run : runs) names += run.name + " ";
  EXPECT_EQ(names,
            "resnet_s_256 resnet_s_128 resnet_p_256 resnet_p_1024 resnet_d_256 "
            "resnet_d_1024 ");
  EXPECT_EQ(typed(runs[5].words),
            "train imagenet -a resnet50 --lr 0.01 --batch-size 1024 --workers 16 "
            "--dist-url tcp://127.0.0.1:2345 --dist-backend nccl --world-size 1 --rank "
            "0 --multiprocessing-distributed --epochs 1");
  EXPECT_EQ(imagenet_runs({"vgg16_bn", "x", 64, 1, {}})[3].name, "vgg_p_16");
}

TEST(ImageNetTable, SpeedUpIsTheSeedsArithmetic) {
  const auto runs = imagenet_runs({"resnet50", "imagenet", 1, 2345, {}});
  // The two published figures, through the whole table.
  std::vector<ImageNetResult> results{
      {runs[0], log_of(9, 0.742, 60.0), false, 1.0, {}},
      {runs[2], log_of(9, 0.378, 61.0), false, 0.25, {0.3, 0.6}},
      {runs[3], log_of(9, 1.484, 62.0), false, {}, {}}};
  const auto all = figures(results);
  EXPECT_NEAR(*all[1].speedup, 1.963, 5e-4);
  EXPECT_EQ(all[1].seed_speedup, 0.742 / 0.378);
  EXPECT_NEAR(*all[0].images_per_second, 345.01, 0.01);
  EXPECT_NEAR(*all[2].speedup, 2, 1e-9);  // 4 times the batch in twice the time
  EXPECT_EQ(all[1].emulated_speedup, 4);
  EXPECT_FALSE(all[2].emulated_speedup);
  EXPECT_FALSE(all[2].seed_speedup);
  EXPECT_EQ(all[1].acc1, 61);

  const Rows rows = imagenet_rows(results);
  const std::vector<std::string> spread_and_shares(rows[2].begin() + 4,
                                                   rows[2].begin() + 9);
  EXPECT_EQ(spread_and_shares,
            (std::vector<std::string>{"0.189", "0.756", "0.000", "30 %", "60 %"}));
  EXPECT_EQ(rows[1][7], "–");  // no trace
  EXPECT_EQ(rows[2][10], "1.963x");
  EXPECT_EQ(rows[2][16], "1.963x");
  EXPECT_EQ(rows[3][16], "–");
  const auto json = imagenet_json(results, {"a note"});
  EXPECT_EQ(json["runs"][1]["seconds_per_iteration"].get<double>(), *all[1].seconds);
  EXPECT_TRUE(json["runs"][2]["seed_speedup"].is_null());
  EXPECT_NE(imagenet_plot(results, "t").data.find("\"p_256\" 677.2"),
            std::string::npos);
}

TEST(ImageNetTable, SharesAreThoseOfTheTrace) {
  tracer::StepGroup group;
  EXPECT_FALSE(step_shares(group).forward);
  group.steps.emplace_back();
  group.steps[0].length = 1000;
  EXPECT_FALSE(step_shares(group).forward) << "the path is unknown";
  group.steps[0].path_shares = {
      {"replicate", 100}, {"parallel_apply", 200}, {"grad_scatter", 10},
      {"backward", 490},  {"reduce", 150},
  };
  EXPECT_NEAR(*step_shares(group).forward, 0.3, 1e-12);
  EXPECT_NEAR(*step_shares(group).backward, 0.5, 1e-12);
}

TEST(Plot, AScriptIsItsDataTheStyleAndACommittedProgram) {
  const Plot plot{"imagenet.gp", 960, 420, "it's here",
                  variable("columns", "3 5") + data_block("runs", "\"a\" 1 1 – 2\n")};
  const std::string script = script_of(plot, "plot");
  EXPECT_TRUE(script.starts_with(
      "# `gnuplot plot.gp` draws plot.png again.\nname = 'plot'\nwidth = 960\nheight = "
      "420\nheading = 'it''s here'\ncolumns = '3 5'\n$runs << EOD\n\"a\" 1 1 – "
      "2\nEOD\n# What all plots have in common."));
  EXPECT_NE(script.find("\nset multiplot title heading"), std::string::npos);
  EXPECT_THROW(script_of({"nothing.gp"}, "plot"), std::logic_error);
  EXPECT_EQ(array("batch", {"1", "2"}), "array batch[2] = [1, 2]\n");
}

TEST(ImageNetTable, CommandsAreTheSameButForThePort) {
  EXPECT_TRUE(same_command("./lockstep train a --dist-url tcp://127.0.0.1:1 -b 2",
                           "lockstep train a --dist-url tcp://127.0.0.1:22 -b 2"));
  EXPECT_FALSE(same_command("lockstep train a -b 2", "lockstep train a -b 3"));
  EXPECT_FALSE(same_command("lockstep train a --dist-url tcp://x:1 -b 2",
                            "lockstep train a --dist-url tcp://x:1 -b 3"));
  EXPECT_EQ(typed({"a b", "it's", "", "plain"}), "'a b' 'it'\\''s' '' plain");
}

TEST(TextTable, ColumnsStandInLine) {
  const Rows rows{{"a", "b", "c"}, {"–", "long", "1.5"}};
  EXPECT_EQ(as_text(rows), "  a  b       c\n  –  long  1.5\n");
  EXPECT_EQ(as_markdown(rows),
            "| a | b | c |\n| --- | --- | ---: |\n| – | long | 1.5 |\n");
}

BatchSizeRuns small_and_large() {
  BatchSizeRuns runs;
  runs.batches = {32, 256};
  runs.lr = 0.1;
  return runs;
}

bool has(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

TEST(BatchSizeTable, TheSmallestBatchHasOneRecipe) {
  const auto runs = batch_size_runs(small_and_large());
  ASSERT_EQ(runs.size(), 4u);
  EXPECT_EQ(runs[0].lr, 0.0125);  // 0.1 is the learning rate for a batch of 256
  EXPECT_EQ(runs[1].lr, 0.0125);
  EXPECT_EQ(runs[2].lr, 0.1);
  EXPECT_EQ(runs[3].name, "resnet_s_256_warmed");
  EXPECT_FALSE(has(runs[1].words, "--scale-lr"));
  EXPECT_TRUE(has(runs[1].words, "0.0125"));
  EXPECT_TRUE(has(runs[2].words, "--scale-lr"));
  EXPECT_FALSE(has(runs[2].words, "--warmup-epochs"));
  EXPECT_TRUE(has(runs[3].words, "--warmup-epochs"));
}

TEST(BatchSizeTable, Gaps) {
  const auto runs = batch_size_runs(small_and_large());
  const std::vector<BatchSizeResult> results{{runs[0], log_of(9, 1, 70.0)},
                                             {runs[1], log_of(9, 1, 55.5)}};
  const auto all = figures(results);
  EXPECT_EQ(all[0].gap, 20);
  EXPECT_EQ(all[1].gap, 34.5);
  EXPECT_EQ(all[0].behind, 0);
  EXPECT_EQ(all[1].behind, 14.5);
  EXPECT_EQ(batch_size_json(results, {})["runs"][1]["behind_smallest_batch"], 14.5);
  const Rows rows = batch_size_rows(results);
  EXPECT_EQ((std::vector<std::string>(rows[1].end() - 5, rows[1].end())),
            (std::vector<std::string>{"1.000", "0.500", "2.000", "–", "–"}));
  const Plot plot = batch_size_plot(results, "t");
  EXPECT_NE(script_of(plot, "p").find("set xtics ceil(STATS_max / 10.0)"),
            std::string::npos)
      << "epochs are whole numbers";
  EXPECT_NE(plot.data.find("array label[2] = ['32, constant rate', '256, constant "
                           "rate']\narray batch[2] = [1, 2]\narray recipe[2] = [1, 1]"),
            std::string::npos);
  EXPECT_NE(plot.data.find("$gaps << EOD\n32 20.000 70.000\n256 34.500 55.500\n\n\n"),
            std::string::npos);
  EXPECT_THROW(figures({{runs[0], log_of(9, 1)}}), std::runtime_error);
}

}  // namespace
}  // namespace lockstep::experiments
