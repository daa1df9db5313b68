#include "experiments/log.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <sstream>

namespace lockstep::experiments {
namespace {

/// A line in the format of main.py.
std::string line(int epoch, int iteration, int of, double now, double mean) {
  return fmt::format(
      "Epoch: [{}][{:5}/{}]\tTime {:6.3f} ({:6.3f})\tData  0.100 ( 0.050)\tLoss "
      "6.9000e+00 (7.0000e+00)\tAcc@1   1.56 (  0.78)\tAcc@5   3.12 (  2.00)\n",
      epoch, iteration, of, now, mean);
}

Log read(const std::string& text) {
  std::istringstream lines(text);
  return read_log(lines);
}

TEST(ExperimentLog, TheFirstIterationIsNotCounted) {
  // 10 s, then 1, 2, 3 s: the means match those of main.py's meters.
  const Log log = read(line(0, 0, 4, 10, 10) + line(0, 1, 4, 1, 5.5) +
                       line(0, 2, 4, 2, 13 / 3.) + line(0, 3, 4, 3, 4));
  EXPECT_EQ(log.iterations(), 4);
  EXPECT_EQ(log.counted().count, 3);
  EXPECT_NEAR(log.counted().seconds, 6, 0.01);
  EXPECT_NEAR(log.counted().data_seconds, 4 * 0.05 - 0.05, 1e-9);
}

/// Today's main.py prints `[1/4]` first, and `[4/4]` last.
TEST(ExperimentLog, IterationsMayBeCountedFromOne) {
  std::string ours, todays;
  for (int epoch = 0; epoch < 2; ++epoch) {  // 10 s, then 1, 2, 3 s
    const double now[] = {10, 1, 2, 3}, mean[] = {10, 5.5, 13 / 3., 4};
    for (int i = 0; i < 4; ++i) {
      ours += line(epoch, i, 4, now[i], mean[i]);
      todays += line(epoch, i + 1, 4, now[i], mean[i]);
    }
    todays += " *   Acc@1 12.500 Acc@5 50.000\n";
  }
  const Log log = read(todays);
  EXPECT_EQ(log.iterations(), 8);
  for (const bool short_last : {false, true}) {
    EXPECT_EQ(log.counted(short_last).count, read(ours).counted(short_last).count);
    EXPECT_EQ(log.counted(short_last).seconds, read(ours).counted(short_last).seconds);
  }
  ASSERT_EQ(log.epochs.size(), 2u);
  EXPECT_TRUE(log.epochs[0].whole);
  EXPECT_EQ(log.epochs[1].test_acc1, 12.5);

  // Every tenth line: the steps of 0.4 s are not diluted by one that was not done.
  const Log sparse = read(line(0, 1, 40, 2.4, 2.4) + line(0, 11, 40, 0.4, 6.4 / 11) +
                          line(0, 31, 40, 0.4, 14.4 / 31));
  EXPECT_EQ(sparse.counted().count, 30);
  EXPECT_NEAR(sparse.counted().seconds / 30, 0.4, 1e-3);
}

TEST(ExperimentLog, NorAreSmallerBatchesAtTheEndOfEpochs) {
  std::string text;
  for (int epoch = 0; epoch < 2; ++epoch) {  // 5, 1, 1, 0.2 s
    text += line(epoch, 0, 4, 5, 5) + line(epoch, 1, 4, 1, 3) +
            line(epoch, 2, 4, 1, 7 / 3.) + line(epoch, 3, 4, 0.2, 1.8);
  }
  EXPECT_EQ(read(text).counted(true).count, 5);  // 1, 1; 5, 1, 1
  EXPECT_NEAR(read(text).counted(true).seconds, 9, 0.01);
  EXPECT_EQ(read(text).counted(false).count, 7);
}

TEST(ExperimentLog, EveryTenthLineIsEnough) {
  // As in the published logs: no times of single iterations.
  const Log log =
      read(line(0, 0, 5005, 8.742, 8.742) + line(0, 10, 5005, 0.742, 1.469) +
           line(0, 5000, 5005, 0.742, 0.7436));
  EXPECT_EQ(log.counted(true).count, 5000);
  EXPECT_NEAR(log.counted(true).seconds / 5000, 0.742, 1e-3);
}

TEST(ExperimentLog, EpochsAndAccuracies) {
  const Log log =
      read("$ lockstep train x\nUse GPU: 0 for training\n" + line(0, 0, 1, 2, 2) +
           "Test: [0/1]\tTime  9.000 ( 9.000)\tLoss 1 (1)\n"
           " * Acc@1 12.500 Acc@5 50.000\n" +
           line(1, 0, 1, 2, 2) + " * Acc@1 25.000 Acc@5 75.000\n");
  EXPECT_EQ(log.command, "lockstep train x");
  ASSERT_EQ(log.epochs.size(), 2u);
  EXPECT_EQ(log.epochs[0].test_acc1, 12.5);
  EXPECT_EQ(log.epochs[1].test_acc1, 25);
  EXPECT_EQ(log.epochs[1].test_acc5, 75);
  EXPECT_EQ(log.epochs[1].acc1, 0.78);
  EXPECT_EQ(log.epochs[1].loss, 7);
  EXPECT_EQ(log.counted().count, 1);  // the one of the second epoch
}

/// In the example every rank prints. Lines of a rank that is behind are ignored.
TEST(ExperimentLog, RanksThatAreBehindAreNotCounted) {
  const Log log = read(line(0, 0, 3, 5, 5) + line(0, 1, 3, 1, 3) + line(0, 0, 3, 7, 7) +
                       line(0, 2, 3, 1, 7 / 3.) + line(1, 0, 3, 2, 2) +
                       line(0, 2, 3, 9, 9) + line(1, 1, 3, 2, 2) + line(1, 0, 3, 9, 9));
  ASSERT_EQ(log.epochs.size(), 2u);
  EXPECT_EQ(log.epochs[0].all.count, 3);
  EXPECT_NEAR(log.epochs[0].all.seconds, 7, 1e-2);
  EXPECT_EQ(log.epochs[1].all.count, 2);
}

TEST(ExperimentLog, TheOlderExamplesWords) {
  const Log log = read(
      "Epoch: [0][0/9]\tTime 5.123 (5.123)\tData 3.2 (3.2)\tLoss 7.0123 (7.0123)\t"
      "Prec@1 0.000 (0.390)\tPrec@5 0.391 (0.391)\n * Prec@1 1.500 Prec@5 5.000\n");
  ASSERT_EQ(log.epochs.size(), 1u);
  EXPECT_EQ(log.epochs[0].all.seconds, 5.123);
  EXPECT_EQ(log.epochs[0].acc1, 0.39);
  EXPECT_EQ(log.epochs[0].test_acc1, 1.5);
}

TEST(ExperimentLog, RanksThatAllPrintAreTakenAsOne) {
  const Log log =
      read(line(0, 0, 3, 4, 4) + line(0, 0, 3, 4, 4) + line(0, 1, 3, 1, 2.5) +
           line(0, 2, 3, 1, 2) + line(0, 1, 3, 1, 2.5) + line(0, 2, 3, 1, 2));
  EXPECT_EQ(log.iterations(), 3);
  EXPECT_NEAR(log.counted().seconds, 2, 1e-9);
}

TEST(ExperimentLog, AFileWithoutLinesIsRefusedByName) {
  EXPECT_TRUE(read("nothing\nEpoch: [0] soon\n").epochs.empty());
  try {
    read_log_file("/dev/null");
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("/dev/null"), std::string::npos);
  }
}

}  // namespace
}  // namespace lockstep::experiments
