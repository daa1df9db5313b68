// The time missing from steps with known parts, and sentences that must not be said.
#include "tracer/analysis/missing_time.h"

#include <gtest/gtest.h>

#include <numeric>

namespace lockstep::tracer {
namespace {

constexpr int64_t kMs = 1'000'000;

struct Part {
  const char* what;
  int64_t ms;
};

/// A run on `devices` devices with 128 images on each; its path has these parts, and
/// `wakeups` more ms pass.
Summary run_of(int64_t devices, const std::vector<Part>& parts, int64_t wakeups = 0) {
  Summary summary;
  summary.clock = "measured";
  summary.arch = "resnet18";
  summary.devices = devices;
  StepSummary step;
  step.batch = 128 * devices;
  step.length = wakeups * kMs;
  for (const auto& [what, ms] : parts) {
    step.path_shares.push_back({what, ms * kMs});
    step.length += ms * kMs;
  }
  step.kernel_cpu = step.kernel_wall = step.length;
  summary.train.steps = {step};
  return summary;
}

Summary alone() {
  return run_of(1,
                {{"forward", 300}, {"backward", 600}, {"optimizer", 60}, {"h2d", 40}});
}

Summary data_parallel() {
  return run_of(2,
                {{"parallel_apply", 310},
                 {"backward", 610},
                 {"optimizer", 60},
                 {"scatter", 41},
                 {"replicate", 100},
                 {"reduce", 150}},
                9);
}

TEST(MissingTime, IsNamedAndAddsUp) {
  const auto missing = missing_time(data_parallel(), alone());
  ASSERT_TRUE(missing);
  EXPECT_EQ(missing->alone, 1000 * kMs);
  EXPECT_EQ(missing->step, 1280 * kMs);
  int64_t sum = missing->alone;
  for (const PathShare& part : missing->parts) sum += part.nanoseconds;
  EXPECT_EQ(sum, missing->step);
  EXPECT_EQ(missing_line(*missing),
            "1000 ms + 150 reduce + 100 replicate + 41 scatter − 40 h2d + 20 computing "
            "+ 9 other = 1280 ms");
  EXPECT_NEAR(missing->speedup(), 2 * 1000 / 1280., 1e-12);
}

TEST(MissingTime, PartsAddUpAsPrinted) {
  const RoundedTimes rounded(120 * kMs);
  EXPECT_EQ(rounded.text(rounded.units({123'456'789})[0]), "123.5");
  for (int64_t seed = 1; seed < 300; ++seed) {
    std::vector<int64_t> parts;
    for (int64_t i = 0; i < 9; ++i) parts.push_back(seed * (i + 3) * 7919 % 9'999'991);
    const auto units = rounded.units(parts);
    const int64_t sum = std::accumulate(parts.begin(), parts.end(), int64_t{0});
    EXPECT_EQ(std::accumulate(units.begin(), units.end(), int64_t{0}),
              rounded.units({sum})[0]);
  }
  EXPECT_EQ(RoundedTimes(1000 * kMs).text(1234), "1234");
  EXPECT_EQ(RoundedTimes(kMs).text(1234), "1.234");
}

TEST(MissingTime, ComparesOnlyEqualSharesOfABatch) {
  const Summary single = alone();
  EXPECT_TRUE(missing_time(data_parallel(), single));
  EXPECT_FALSE(missing_time(single, single));
  const auto refused = [&](auto change) {
    Summary other = data_parallel();
    change(other);
    EXPECT_EQ(missing_sentence(other, single), "");
    return !missing_time(other, single);
  };
  EXPECT_TRUE(refused([](Summary& s) { s.train.steps[0].batch = 128; }));
  EXPECT_TRUE(refused([](Summary& s) { s.arch = "vgg16"; }));
  EXPECT_TRUE(refused([](Summary& s) { s.clock = "emulated"; }));
  EXPECT_TRUE(refused([](Summary& s) { s.null_devices = true; }));
  EXPECT_TRUE(refused([](Summary& s) { s.imported = true; }));
  EXPECT_TRUE(refused([](Summary& s) { s.train.steps[0].path_shares.clear(); }));
  EXPECT_TRUE(refused([](Summary& s) { s.train.steps.clear(); }));
}

/// Amdahl's law with its textbook figures: half of the work in parallel gives 1.33x on
/// two devices; 95 % can never give more than 20x.
TEST(MissingTime, PredictsFromTheProportions) {
  EXPECT_NEAR(parallel_share(alone().train), 0.9, 1e-12);
  EXPECT_EQ(parallel_share({}), 0);
  EXPECT_NEAR(predicted_speedup(0.5, 2), 4 / 3., 1e-12);
  EXPECT_NEAR(predicted_speedup(0.95, 1 << 30), 20, 1e-6);
  EXPECT_EQ(predicted_speedup(1, 4), 4);
  EXPECT_EQ(predicted_speedup(0, 4), 1);
}

bool says(const std::string& text, const std::string& words) {
  return text.find(words) != text.npos;
}

TEST(MissingTime, ASentenceNamesWhatWasAddedAndPredicted) {
  const std::string text = missing_sentence(data_parallel(), alone());
  EXPECT_TRUE(says(text, "256 images on 2 devices take 1.28 s, 128 on one take 1.00 s"))
      << text;
  EXPECT_TRUE(says(text, "+ 150 reduce + 100 replicate")) << text;
  // 1/(0.1 + 0.9/2) = 1.82
  EXPECT_TRUE(says(text,
                   "That is 1.56x as many images per second; the proportions predict "
                   "1.82x (forward and backward are 90.0 % of one device's step); "
                   "the run is 0.26x below that."))
      << text;
}

TEST(MissingTime, NothingIsMissingFromAStepThatIsAsLong) {
  const Summary equal =
      run_of(2, {{"forward", 302}, {"backward", 603}, {"optimizer", 60}, {"h2d", 40}});
  const std::string text = missing_sentence(equal, alone());
  EXPECT_TRUE(says(text, "no time is missing")) << text;
  EXPECT_FALSE(says(text, "+")) << text;
  EXPECT_TRUE(says(text, "the run is 0.17x above that.")) << text;
  EXPECT_FALSE(says(missing_sentence(data_parallel(), alone()), "no time is missing"));
}

TEST(MissingTime, NoCauseIsNamedOnBusyCores) {
  for (const bool ours_is_busy : {true, false}) {
    Summary ours = data_parallel(), single = alone();
    (ours_is_busy ? ours : single).train.steps[0].kernel_cpu /= 2;
    const std::string text = missing_sentence(ours, single);
    EXPECT_TRUE(says(text, "no cause is named")) << text;
    EXPECT_FALSE(says(text, "reduce") || says(text, "predict")) << text;
    ours.clock = single.clock =
        "emulated";  // its kernels last as long as their CPU time
    EXPECT_TRUE(says(missing_sentence(ours, single), "reduce"));
  }
}

}  // namespace
}  // namespace lockstep::tracer
