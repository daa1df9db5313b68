// Logs of main.py from anywhere: both generations, several ranks, damaged lines.
#include "experiments/logs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <sstream>

namespace lockstep::experiments {
namespace {

/// As printed by the example before 2022, every tenth iteration.
constexpr char kOlder[] =
    "Use GPU: 0 for training\n=> creating model 'resnet50'\n"
    "Epoch: [0][   0/5005]\tTime  8.742 ( 8.742)\tData  6.100 ( 6.100)\tLoss "
    "7.0512e+00 "
    "(7.0512e+00)\tAcc@1   0.00 (  0.00)\tAcc@5   0.39 (  0.39)\n"
    "Epoch: [0][  10/5005]\tTime  0.742 ( 1.469)\tData  0.000 ( 0.555)\tLoss "
    "7.0214e+00 "
    "(7.0432e+00)\tAcc@1   0.00 (  0.07)\tAcc@5   0.39 (  0.43)\n"
    "Epoch: [0][5000/5005]\tTime  0.750 ( 0.7436)\tData  0.000 ( 0.0012)\tLoss "
    "4.9012e+00 (5.8123e+00)\tAcc@1  11.33 (  5.61)\tAcc@5  28.91 ( 15.22)\n"
    "Test: [  0/196]\tTime  7.012 ( 7.012)\tLoss 4.1 (4.1)\tAcc@1  14.84 ( 14.84)\n"
    " * Acc@1 14.310 Acc@5 34.090\n";

/// As printed today: iterations from 1, the epoch's last one included, a wider ` * `.
constexpr char kTodays[] =
    "=> using pre-trained model 'resnet18'\n"
    "Epoch: [0][1/5]\tTime  4.000 ( 4.000)\tData  2.000 ( 2.000)\tLoss 7.0000e+00 "
    "(7.0000e+00)\tAcc@1   0.00 (  0.00)\tAcc@5   0.00 (  0.00)\n"
    "Epoch: [0][3/5]\tTime  0.500 ( 1.700)\tData  0.100 ( 0.700)\tLoss 6.0000e+00 "
    "(6.5000e+00)\tAcc@1   1.00 (  0.50)\tAcc@5   2.00 (  1.00)\n"
    "Epoch: [0][5/5]\tTime  0.700 ( 1.260)\tData  0.100 ( 0.460)\tLoss 5.0000e+00 "
    "(6.0000e+00)\tAcc@1   3.00 (  1.50)\tAcc@5   5.00 (  2.50)\n"
    " *   Acc@1 2.500 Acc@5 7.500\n";

constexpr char kOurs[] =
    "$ lockstep train set -a resnet18 --batch-size 64 --epochs 1\n"
    "=> creating model 'resnet18'\n"
    "=> mode dp, 4 devices (cpu:0 to cpu:3), batch 64 in 4 chunks of 16, 1 thread per "
    "device\n"
    "Epoch: [0][0/3]\tTime  3.000 ( 3.000)\tData  0.500 ( 0.500)\tLoss 2.5e+00 "
    "(2.5e+00)"
    "\tAcc@1  10.00 ( 10.00)\tAcc@5  50.00 ( 50.00)\n"
    "Epoch: [0][2/3]\tTime  0.400 ( 1.200)\tData  0.000 ( 0.200)\tLoss 2.1e+00 "
    "(2.3e+00)"
    "\tAcc@1  20.00 ( 15.00)\tAcc@5  60.00 ( 55.00)\n"
    " * Acc@1 21.000 Acc@5 61.000\n";

ImageNetResult result_of(const std::string& text, int64_t batch = 0) {
  std::istringstream lines(text);
  ImageNetResult result;
  result.run.name = "log";
  result.log = read_log(lines);
  result.run.how = result.log.how;
  result.run.batch = batch > 0 ? batch : batch_of(result.log);
  return result;
}

/// The row of the last log, by the heading of its columns.
std::string cell(const std::vector<ImageNetResult>& results,
                 const std::string& heading) {
  const Rows rows = log_rows(results);
  for (size_t i = 0; i < rows[0].size(); ++i) {
    if (rows[0][i] == heading) return rows.back()[i];
  }
  return "no such column";
}

TEST(Logs, AnOlderLog) {
  const std::vector<ImageNetResult> results{result_of(kOlder, 256)};
  EXPECT_EQ(results[0].run.how, "GPU 0");
  EXPECT_EQ(cell(results, "iterations"), "5001");
  EXPECT_EQ(cell(results, "s/iteration"), "0.742");  // without the first, 8.742 s
  EXPECT_EQ(cell(results, "least"), "0.742");
  EXPECT_EQ(cell(results, "most"), "0.750");
  EXPECT_EQ(cell(results, "of which data"), "0.000");
  EXPECT_EQ(cell(results, "s/epoch"), "3721.7");  // 5005 · 0.7436
  EXPECT_EQ(cell(results, "images/s"), "345.0");
  EXPECT_EQ(cell(results, "loss"), "5.8123");
  EXPECT_EQ(cell(results, "train Acc@1"), "5.61");
  EXPECT_EQ(cell(results, "Acc@1"), "14.31");
}

TEST(Logs, ALogOfToday) {
  const std::vector<ImageNetResult> results{result_of(kTodays)};
  EXPECT_EQ(cell(results, "iterations"), "5");
  EXPECT_EQ(cell(results, "s/iteration"), "0.575");  // (5 · 1.26 − 4) / 4
  EXPECT_EQ(cell(results, "of which data"), "0.075");
  EXPECT_EQ(cell(results, "s/epoch"), "6.3");
  EXPECT_EQ(cell(results, "Acc@1"), "2.50");
  EXPECT_EQ(cell(results, "Acc@5"), "7.50");
  for (const char* heading : {"batch", "images/s", "speed-up"}) {
    EXPECT_EQ(cell(results, heading), "unknown") << heading;
  }
  EXPECT_EQ(log_json(results)["logs"][0]["batch"], nullptr);
  EXPECT_EQ(results[0].log.how, "");
}

TEST(Logs, OursNamesItsBatchAndDevices) {
  const std::vector<ImageNetResult> results{result_of(kOlder, 256), result_of(kOurs)};
  EXPECT_EQ(cell(results, "how"), "mode dp, 4 devices");
  EXPECT_EQ(cell(results, "batch"), "64");
  EXPECT_EQ(cell(results, "s/iteration"), "0.300");
  EXPECT_EQ(cell(results, "speed-up"), "0.618x");  // 64/0.3 over 256/0.742
  EXPECT_EQ(batch_of(result_of("$ lockstep train -b=8 x\n").log), 8);
  EXPECT_EQ(batch_of(result_of("$ lockstep train -b64 x\n").log), 64);
  EXPECT_EQ(batch_of(result_of("$ lockstep train --batch 16 x\n").log), 16);
  EXPECT_EQ(
      batch_of(result_of("$ lockstep train --batch-s=32 --bucket-cap-mb 1\n").log), 32);
  EXPECT_EQ(batch_of(result_of("$ lockstep train -a resnet18\n").log), 256);
  EXPECT_EQ(batch_of(result_of("$ lockstep train -b x -b\n").log), 0);
  EXPECT_EQ(batch_of(result_of(kTodays).log), 0);
}

/// All ranks of the example print, each with its own figures and torchrun's prefix.
TEST(Logs, RanksAreOneRow) {
  std::string text;
  for (const int gpu : {1, 0})
    text += "Use GPU: " + std::to_string(gpu) + " for training\n";
  const auto line = [&](int rank, int iteration, const char* time, const char* loss) {
    text += "[default" + std::to_string(rank) + "]:Epoch: [0][" +
            std::to_string(iteration) + "/3]\tTime " + time + "\tLoss " + loss + "\n";
  };
  line(0, 1, "2.0 (2.0)", "7.0 (7.0)");
  line(1, 1, "4.0 (4.0)", "5.0 (5.0)");
  line(0, 2, "1.0 (1.5)", "7.0 (7.0)");
  line(0, 3, "1.0 (1.333333)", "7.0 (7.0)");
  line(1, 2, "1.0 (2.5)", "5.0 (5.0)");  // behind
  line(1, 3, "1.0 (2.0)", "5.0 (5.0)");
  const std::vector<ImageNetResult> results{result_of(text)};
  EXPECT_EQ(results[0].run.how, "GPU 0, 1");
  EXPECT_EQ(results[0].log.ranks, 2);
  EXPECT_EQ(cell(results, "iterations"), "3");
  EXPECT_EQ(cell(results, "loss"), "6.0000");
  EXPECT_EQ(cell(results, "s/iteration"), "1.000");  // (4 + 6)/2 − (2 + 4)/2, of two
  EXPECT_EQ(cell(results, "of which data"), "unknown");
  EXPECT_EQ(cell(results, "Acc@1"), "unknown");
}

/// Cuts, flips and repeats bytes of good logs. No figure may be impossible.
TEST(Logs, DamagedLogsGiveNoImpossibleFigures) {
  std::mt19937 random(1);
  int read = 0;
  for (int round = 0; round < 3000; ++round) {
    const char* const logs[] = {kOlder, kTodays, kOurs};
    std::string text = logs[round % 3];
    for (int i = static_cast<int>(random() % 6); i >= 0; --i) {
      const size_t at = random() % text.size();
      switch (random() % 4) {
        case 0:
          text.erase(at, random() % 40);
          break;
        case 1:
          text[at] = static_cast<char>(random());
          break;
        case 2:
          text.insert(at, text.substr(random() % text.size(), random() % 60));
          break;
        default:
          text.insert(at, round % 2 ? "99999999999999999999" : "-1e308");
      }
      if (text.empty()) text = " ";
    }
    const auto result = result_of(text, 256);
    if (result.log.epochs.empty()) continue;
    ++read;
    for (const EpochLog& epoch : result.log.epochs) {
      EXPECT_GE(epoch.all.count, 1);
      EXPECT_GE(epoch.all.count, epoch.first.count);
      EXPECT_TRUE(std::isfinite(epoch.all.seconds)) << text;
      for (const auto& accuracy : {epoch.acc1, epoch.test_acc1, epoch.test_acc5}) {
        EXPECT_TRUE(!accuracy || (*accuracy >= 0 && *accuracy <= 100)) << text;
      }
    }
    EXPECT_EQ(log_rows({result}).size(), 2u);
    log_json({result}).dump(1, ' ', false, tracer::Json::error_handler_t::replace);
  }
  EXPECT_GT(read, 1500);
}

/// What print_logs says about a file that it cannot use.
std::string refusal(const std::string& file) {
  try {
    print_logs({{file}, {}, false});
    return "accepted";
  } catch (const std::runtime_error& error) {
    return error.what();
  }
}

TEST(Logs, BadInputIsRefusedByName) {
  EXPECT_EQ(refusal("/nonexistent/x.log"), "/nonexistent/x.log: cannot be read");
  EXPECT_EQ(refusal("/"), "/: cannot be read");
  EXPECT_EQ(refusal("/dev/null"),
            "/dev/null: no progress lines found (Epoch: [0][0/…] Time …); fix: name a "
            "log of lockstep train or of the ImageNet example's main.py");
  EXPECT_EQ(refusal("/dev/null").find('\n'), std::string::npos);
}

}  // namespace
}  // namespace lockstep::experiments
