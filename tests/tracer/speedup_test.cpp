// Sentences about speed, on summaries for which they must or must not appear.
#include "tracer/analysis/speedup.h"

#include <gtest/gtest.h>

#include <numeric>
#include <sstream>

#include "tracer/analysis/steps.h"

namespace lockstep::tracer {
namespace {

using Shares = std::vector<PathShare>;

Spent class_of(const std::string& what) {
  for (size_t i = 0; i < kSpents; ++i) {
    if (what == words_of(static_cast<Spent>(i)).name) return static_cast<Spent>(i);
  }
  if (what == reasons::all_reduce) return Spent::collectives;
  return is_computing(what) ? Spent::computing : Spent::other;
}

/// A run on `devices` devices that all do the same; the longest path of its step has
/// these shares (ns), no gaps.
Summary of_devices(int64_t devices, const Shares& shares) {
  Summary summary;
  summary.clock = "emulated";
  summary.arch = "resnet18";
  summary.devices = devices;
  StepSummary step;
  step.batch = 64;
  step.path_shares = shares;
  for (const PathShare& share : shares) {
    step.length += share.nanoseconds;
    if (is_computing(share.what)) step.kernel_cpu += devices * share.nanoseconds;
    if (is_shared_computing(share.what)) {
      step.computing_cpu += devices * share.nanoseconds;
    }
  }
  step.kernel_wall = step.kernel_cpu;
  step.split.step = step.length;
  step.split.known = true;
  step.split.devices.resize(devices);
  for (const PathShare& share : shares) {
    const Spent spent = class_of(share.what);
    for (DeviceSplit& device : step.split.devices) {
      device.spent[spent] += share.nanoseconds;
      step.split.spent[spent] += share.nanoseconds;
    }
  }
  for (int64_t device = 0; device < devices; ++device) {
    step.computing[device] = step.kernel_cpu / devices;
  }
  summary.train.steps = {step};
  return summary;
}

Summary one_device() { return of_devices(1, {{"forward", 300}, {"backward", 700}}); }

int sum_of(const Speedup& speedup) {
  return std::accumulate(
      speedup.losses.begin(), speedup.losses.end(), speedup.hundredths,
      [](int sum, const SpeedupLoss& loss) { return sum + loss.hundredths; });
}

// One device takes 1000, a fourth of which is 250. Four take 500, so 250/500 of 4x is
// lost: 150 to computing (400 − 1000/4), 60 to replicate, 40 to reduce.
TEST(Speedup, DividesWhatIsMissing) {
  const Summary dp = of_devices(
      4,
      {{"backward", 280}, {"parallel_apply", 120}, {"replicate", 60}, {"reduce", 40}});
  const auto speedup = divide_speedup(dp, one_device());
  ASSERT_TRUE(speedup);
  EXPECT_EQ(speedup_line(*speedup),
            "4.00x − 1.20 smaller kernels − 0.48 replicate − 0.32 reduce = 2.00x");
}

TEST(Speedup, HasNothingToDivideIfItIsPerfect) {
  const auto speedup =
      divide_speedup(of_devices(4, {{"forward", 75}, {"backward", 175}}), one_device());
  ASSERT_TRUE(speedup);
  EXPECT_EQ(speedup_line(*speedup), "4.00x = 4.00x");
}

TEST(Speedup, ShowsAGainWithItsSign) {
  const auto speedup = divide_speedup(
      of_devices(4, {{"forward", 75}, {"backward", 125}, {"host", 60}}), one_device());
  ASSERT_TRUE(speedup);
  EXPECT_EQ(speedup_line(*speedup),
            "4.00x − 0.92 host + 0.77 computing hidden behind other work = 3.85x");
}

TEST(Speedup, AlwaysAddsUp) {
  for (int64_t i = 1; i < 500; ++i) {
    const Summary many = of_devices(2 + i % 7, {{"backward", 100 + i * 37 % 211},
                                                {"replicate", i * 53 % 97},
                                                {"host", i * 11 % 13},
                                                {"gather", i * 29 % 7},
                                                {"optimizer", i * 7 % 31}});
    const auto speedup = divide_speedup(many, one_device());
    ASSERT_TRUE(speedup);
    EXPECT_EQ(sum_of(*speedup), 100 * speedup->devices) << speedup_line(*speedup);
  }
}

TEST(Speedup, ComparesOnlyWhatIsComparable) {
  const Summary single = one_device(), dp = of_devices(4, {{"backward", 400}});
  EXPECT_TRUE(divide_speedup(dp, single));
  EXPECT_FALSE(divide_speedup(single, single)) << "one device has no shares";
  Summary other = dp;
  other.arch = "vgg16";
  EXPECT_FALSE(divide_speedup(other, single));
  other = dp, other.clock = "measured";
  EXPECT_FALSE(divide_speedup(other, single));
  other = dp, other.train.steps[0].batch = 256;
  EXPECT_FALSE(divide_speedup(other, single));
  other = dp, other.null_devices = true;
  EXPECT_FALSE(divide_speedup(other, single));
  other = dp, other.train.steps[0].path_shares.clear();
  EXPECT_FALSE(divide_speedup(other, single)) << "no longest path";
}

/// Three runs that move these bytes, and their speedups on three kinds of hardware.
struct Lesson {
  Lesson() {
    dp.train.ports = {{kHost, {1, 900'000'000}}, {0, {130'000'000, 134'000'000}}};
    ddp.train.ports = {{0, {67'000'000, 66'000'000}}, {1, {66'000'000, 67'000'000}}};
  }
  std::string said() const {
    return scaling_lesson({single, dp, ddp, of_dp, of_ddp, "13 TFLOP/s", 12, 120});
  }
  std::string line(size_t number) const {
    std::istringstream lines(said());
    std::string line;
    for (size_t i = 0; i < number; ++i) std::getline(lines, line);
    return line;
  }
  Summary single = one_device(), dp = of_devices(4, {{"backward", 400}}), ddp = dp;
  std::optional<Scaling> of_dp = Scaling{{4, 240, {}},
                                         {4,
                                          50,
                                          {{"host", 0, 180},
                                           {"smaller kernels", 0, 30},
                                           {"reduce", 0, 80},
                                           {"replicate", 0, 40},
                                           {"wake-ups", 0, 25},
                                           {"gather", 0, -5}}},
                                         {4, 90, {}}};
  std::optional<Scaling> of_ddp = Scaling{{4, 218, {}}, {4, 80, {}}, {4, 102, {}}};
};

TEST(ScalingLesson, SaysWhatDevicesGiveWhatTakesItAndWhatHelps) {
  EXPECT_EQ(
      Lesson().said(),
      "What 4 devices give: with DataParallel, 2.40x one device if each is as fast as "
      "a "
      "core here, 0.50x if they are GPUs (13 TFLOP/s); links of 12 GB/s.\n"
      "What takes the rest: on the GPUs, 1.15x goes to sending the model out of device "
      "0 "
      "(134 MB a step) and summing the gradients there (130 MB); 1.80x to the host, "
      "which launches the kernels; 0.30x to smaller kernels; 0.25x to other causes.\n"
      "What would help: DistributedDataParallel, 0.80x; links of 120 GB/s, 0.90x; "
      "both, 1.02x. Larger batches have less to launch per image.\n");
}

TEST(ScalingLesson, NamesTheSharingBeforeSmallerKernels) {
  Lesson lesson;
  lesson.of_dp->faster_devices = {
      4, 100, {{"smaller kernels", 0, 250}, {"reduce", 0, 50}}};
  EXPECT_EQ(
      lesson.line(2),
      "What takes the rest: on the GPUs, 0.50x goes to sending the model out of "
      "device 0 (134 MB a step) and summing the gradients there (130 MB); 2.50x to "
      "smaller kernels.");
  EXPECT_EQ(lesson.line(3).find("Larger batches"), std::string::npos)
      << "the host takes nothing";
  lesson.of_dp->faster_devices = {4, 400, {}};
  EXPECT_EQ(lesson.line(2), "What takes the rest: on the GPUs, nothing is missing.");
}

TEST(ScalingLesson, NamesAsHelpOnlyWhatIsFaster) {
  Lesson lesson;
  lesson.of_ddp->faster_devices.hundredths = 50;
  lesson.of_dp->faster_devices.losses.clear();
  EXPECT_EQ(lesson.line(3), "What would help: links of 120 GB/s, 0.90x; both, 1.02x.");
  lesson.of_ddp->faster_links.hundredths = 49;
  lesson.of_dp->faster_links.hundredths = 20;
  EXPECT_EQ(lesson.line(3),
            "What would help: nothing of DistributedDataParallel, 0.50x; links of 120 "
            "GB/s, 0.20x; both, 0.49x.");
}

TEST(ScalingLesson, OfADisturbedMeasurementOnlyTheBytesAreSaid) {
  for (Summary Lesson::* run : {&Lesson::single, &Lesson::dp, &Lesson::ddp}) {
    Lesson lesson;
    Summary& disturbed = lesson.*run;
    disturbed.clock = "measured";
    disturbed.train.steps[0].kernel_wall = 2 * disturbed.train.steps[0].kernel_cpu;
    EXPECT_EQ(
        lesson.said(),
        "What 4 devices give: unknown. Kernels took 2.0 times their CPU time, so "
        "other programs (or this run's loading threads) used the cores; repeat "
        "when they are idle.\n"
        "What limits them: in each step, DataParallel sends 134 MB out of device 0 "
        "and 130 MB into it, however fast the devices are; 134 MB take 11.2 ms at 12 "
        "GB/s.\n"
        "What would help, the more the faster the devices: DistributedDataParallel, "
        "which sends 67.0 MB out of device 1 while backward runs; links of 120 GB/s, "
        "where 134 MB take 1.12 ms.\n");
  }
}

TEST(ScalingLesson, SaysNothingOfOneDeviceOrWithoutSpeedups) {
  Lesson unknown, alone;
  unknown.of_ddp.reset();
  alone.dp = one_device();
  EXPECT_EQ(unknown.said(), "");
  EXPECT_EQ(alone.said(), "");
}

/// The sentence for four devices whose path spends `nanoseconds` of 1000 in `what`.
std::string said_of(const std::string& what, int64_t nanoseconds, int64_t devices = 4) {
  return limiting_sentence(
      of_devices(devices, {{"backward", 1000 - nanoseconds}, {what, nanoseconds}}));
}

TEST(Sentence, NamesACauseOnlyFromATenthOfAStepOn) {
  const std::pair<const char*, const char*> kSentences[] = {
      {"waiting for a core", "devices wait for a core for 11 % of their time"},
      {"host", "the host is the bottleneck"},
      {"replicate", "packing the model and copying it"},
      {"reduce", "summing the gradients on device 0"},
      {"all_reduce", "the all-reduce of the gradients"},
      {"bucket copies", "--gradient-as-bucket-view"},
      {"loader", "the loader is the bottleneck: for 11 % of their time"},
      {"imbalance", "for 11 % of their time, devices wait for others"},
      {"waiting for the lock", "--mode hogwild"},
      {"gather", "`gather`"}};
  for (const auto& [what, words] : kSentences) {
    EXPECT_NE(said_of(what, 110).find(words), std::string::npos) << said_of(what, 110);
    EXPECT_EQ(said_of(what, 90).find(words), std::string::npos) << said_of(what, 90);
    EXPECT_NE(said_of(what, 90).find("of 4 devices on average"), std::string::npos)
        << said_of(what, 90);
  }
}

TEST(Sentence, OfOneDeviceNothingIsSaidAboutSharing) {
  for (const char* what : {"waiting for a core", "host", "h2d", "d2h"}) {
    for (const int64_t part : {90, 500}) {
      const std::string text = said_of(what, part, 1);
      EXPECT_EQ(text.find("devices"), std::string::npos) << text;
      EXPECT_EQ(text.find("pay off"), std::string::npos) << text;
    }
  }
  EXPECT_NE(said_of("host", 90, 1).find("the device computes during 91 % of a step"),
            std::string::npos)
      << said_of("host", 90, 1);
}

TEST(Sentence, ThatItPaysTakesTheSpeedOfOneDevice) {
  const Summary single = one_device();
  const auto said = [&](int64_t backward) {
    return limiting_sentence(of_devices(4, {{"backward", backward}}), &single);
  };
  EXPECT_NE(said(260).find("the extra devices pay off: kernels run on 4.0 of 4"),
            std::string::npos)
      << said(260);
  EXPECT_EQ(said(260).find("although"), std::string::npos) << said(260);
  EXPECT_NE(said(320).find("the extra devices pay off: "), std::string::npos)
      << said(320);
  EXPECT_NE(
      said(320).find(
          "although forward, loss and backward of 4 smaller batches take 1.28 times"),
      std::string::npos)
      << said(320);
  // 2.5x of 4: that all devices compute all the time is true, that it pays is not.
  EXPECT_EQ(said(400).find("the extra devices pay off"), std::string::npos)
      << said(400);
  EXPECT_NE(said(400).find("but forward, loss and backward of 4 smaller batches take "
                           "1.60 times the CPU time of one device's (a loss of 1.50x)"),
            std::string::npos)
      << "4.00x − 1.50 smaller kernels = 2.50x: " << said(400);
  EXPECT_EQ(limiting_sentence(of_devices(4, {{"backward", 250}})).find("pay off"),
            std::string::npos)
      << "the speed of one device is unknown";
}

TEST(SpeedupSentence, TakesTheRunOfOneDeviceOrSaysThatItEstimates) {
  const Summary single = one_device();
  const Summary four = of_devices(4, {{"backward", 400}, {"host", 100}});
  EXPECT_EQ(
      speedup_sentence(four, &single),
      "4 devices are 2.00x as fast as one: the mean step takes 500 ns, on one device "
      "1.00 µs.");
  const std::string estimated = speedup_sentence(four);
  EXPECT_EQ(estimated.find("Estimated: 4 devices are 3.20x as fast as one that ran the "
                           "same kernels without a gap. Those of forward, loss and "
                           "backward add up to 1.60 µs a step, which takes 500 ns;"),
            0u)
      << estimated;
  const Summary slow = of_devices(4, {{"backward", 400}, {"replicate", 1600}});
  EXPECT_EQ(speedup_sentence(slow, &single).find("4 devices are 2.00x as slow as one:"),
            0u);
  const Summary equal = of_devices(4, {{"backward", 1001}});
  EXPECT_EQ(speedup_sentence(equal, &single).find("4 devices are as fast as one:"), 0u);
}

TEST(SpeedupSentence, CountsWorkersApartFromTheirServers) {
  const Summary single = one_device();
  Summary ps = of_devices(5, {{"backward", 400}, {"host", 100}});
  ps.servers = 1;
  EXPECT_EQ(speedup_sentence(ps, &single).find("4 workers with 1 server are 2.00x"),
            0u);
  const std::string limit = limiting_sentence(ps, &single);
  EXPECT_NE(limit.find("4 workers with 1 server take"), std::string::npos) << limit;
  EXPECT_EQ(limit.find("5 devices"), std::string::npos) << limit;
}

TEST(SpeedupSentence, DoesNotCompareOtherWork) {
  const Summary single = one_device(), dp = of_devices(4, {{"backward", 400}});
  const auto compared = [](const Summary& ours, const Summary& theirs) {
    return speedup_sentence(ours, &theirs).find("on one device") != std::string::npos;
  };
  EXPECT_TRUE(compared(dp, single));
  EXPECT_FALSE(compared(dp, dp)) << "not one device";
  Summary other = single;
  other.arch = "vgg16";
  EXPECT_FALSE(compared(dp, other));
  other = single, other.clock = "measured";
  EXPECT_FALSE(compared(dp, other));
  other = single, other.train.steps[0].batch = 16;
  EXPECT_FALSE(compared(dp, other));
  other = single, other.assumed = "each kernel takes 1/50 of its CPU time";
  EXPECT_FALSE(compared(dp, other)) << "faster devices";
  EXPECT_FALSE(divide_speedup(dp, other).has_value());
  EXPECT_EQ(speedup_sentence(single, &single), "") << "of one device, nothing is said";
  other = dp, other.null_devices = true;
  EXPECT_EQ(speedup_sentence(other, &single), "");
  other = dp, other.train.steps[0].computing_cpu = 0;
  EXPECT_EQ(speedup_sentence(other), "") << "nothing to estimate from";
  other = dp, other.clock = "measured";
  EXPECT_NE(speedup_sentence(other), "");
  other.train.steps[0].kernel_wall = 2 * other.train.steps[0].kernel_cpu + 1000;
  EXPECT_EQ(speedup_sentence(other), "") << "other programs used the cores";
}

TEST(WarmUp, IsNamedAndInNoMean) {
  StepGroup group = one_device().train;
  group.steps.assign(4, group.steps[0]);
  EXPECT_EQ(warm_up_sentence(group), "");
  group.steps[0].length = 3'200;
  group.steps[0].warm_up = true;
  EXPECT_EQ(group.mean_length(), 1'000);
  EXPECT_EQ(group.mean_path()[0].nanoseconds, 699) << "3 x 700 / 3, rounded down";
  EXPECT_EQ(warm_up_sentence(group),
            "The first step took 3.20 µs, 3.2 times the mean of the other 3: a "
            "warm-up, which is in no mean.");
}

/// Returns whether the first of these steps is a warm-up.
bool warms_up(const std::vector<int64_t>& lengths) {
  std::vector<Step> steps;
  for (const int64_t length : lengths) steps.emplace_back().last_end = length;
  mark_warm_up(steps);
  for (size_t i = 1; i < steps.size(); ++i) EXPECT_FALSE(steps[i].warm_up);
  return !steps.empty() && steps[0].warm_up;
}

TEST(WarmUp, IsAFirstStepThatTakesMuchLonger) {
  EXPECT_TRUE(warms_up({3'200, 1'000, 1'100, 1'200}));
  EXPECT_FALSE(warms_up({}));
  EXPECT_FALSE(warms_up({5'000}));
  EXPECT_FALSE(warms_up({1'500, 1'000})) << "not more than 1.5x";
  EXPECT_TRUE(warms_up({1'501, 1'000}));
  EXPECT_FALSE(warms_up({1'000, 9'000, 1'000})) << "not the first";
  EXPECT_FALSE(warms_up({1'000, 0}));
}

}  // namespace
}  // namespace lockstep::tracer
