// The verdict on several runs, where it must be said and where it must not.
#include "tracer/analysis/verdict.h"

#include <gtest/gtest.h>

namespace lockstep::tracer {
namespace {

using enum Spent;

/// A run with one step whose devices spend this time (ns) on each class, all alike.
Summary run(const char* mode, int64_t devices,
            std::initializer_list<std::pair<Spent, int64_t>> times) {
  Summary summary;
  summary.mode = mode, summary.arch = "resnet18", summary.clock = "emulated";
  summary.devices = devices;
  StepSummary step;
  step.batch = 64;
  step.split.known = true;
  step.split.devices.resize(static_cast<size_t>(devices));
  for (const auto& [spent, time] : times) {
    step.length += time;
    for (DeviceSplit& device : step.split.devices) device.spent[spent] = time;
    step.split.spent[spent] = devices * time;
  }
  step.split.step = step.length;
  summary.train.steps = {step};
  return summary;
}

Summary with_bucket(Summary summary, int64_t took, int64_t exposed) {
  CollectiveTime time;
  time.bucket = 0, time.took = took, time.exposed = exposed;
  time.backward = took - exposed;
  summary.train.steps[0].collectives = {time};
  return summary;
}

const Summary kSingle = run("single", 1, {{computing, 1000}});
const Summary kDp = run("dp", 4, {{computing, 300}, {reduce, 72}});
const Summary kDdp = with_bucket(run("ddp", 4, {{computing, 300}}), 100, 37);

std::string verdict(std::initializer_list<const Summary*> runs) {
  return verdict_sentence(runs);
}

TEST(Verdict, NamesTheFastestAndWhatItHides) {
  EXPECT_EQ(verdict({&kDp, &kDdp}),
            "DDP is 1.24x as fast as DataParallel: 63 % of the reduction is hidden "
            "behind backward.");
  EXPECT_EQ(
      verdict({&kSingle, &kDp, &kDdp}),
      "DDP is 1.24x as fast as DataParallel, 3.33x as fast as one device: 63 % of "
      "the reduction is hidden behind backward.");
}

TEST(Verdict, DoesNotClaimThatAnythingIsHiddenIfNothingIs) {
  const Summary exposed = with_bucket(run("ddp", 4, {{computing, 300}}), 100, 100);
  EXPECT_EQ(
      verdict({&kDp, &exposed}),
      "DDP is 1.24x as fast as DataParallel: a device of DataParallel spends 72.0 "
      "ns more per step (reduce).");
  EXPECT_EQ(hidden_reduction(exposed.train), 0);
  Summary copies = kDdp;  // only kernels that copy buckets run meanwhile
  copies.train.steps[0].collectives[0].backward = 0;
  EXPECT_EQ(verdict({&kDp, &copies}).find("hidden"), std::string::npos);
  EXPECT_EQ(hidden_reduction(kDp.train), 0) << "no collective";
  // Hiding does not explain why DDP is faster than one device.
  EXPECT_EQ(verdict({&kSingle, &kDdp}), "DDP is 3.33x as fast as one device.");
}

TEST(Verdict, ACauseMustBeLarge) {
  const Summary slow = run("dp", 4, {{computing, 306}, {reduce, 10}, {host, 1}});
  const Summary fast = run("ddp", 4, {{computing, 300}});
  EXPECT_EQ(verdict({&slow, &fast}), "DDP is 1.06x as fast as DataParallel.");
  const Summary cores = run("ddp", 4, {{computing, 500}, {core, 700}});
  EXPECT_EQ(
      verdict({&kSingle, &cores}),
      "One device is 1.20x as fast as DDP: `waiting for a core` takes 58 % of the "
      "time of the devices of DDP.");
}

TEST(Verdict, EqualTimesAreCalledEqual) {
  const Summary other = run("ddp", 4, {{computing, 376}});
  EXPECT_EQ(verdict({&kDp, &other}), "DataParallel and DDP take the same time.");
  EXPECT_EQ(verdict({&kDp, &kDp}).find("fast"), std::string::npos);
}

TEST(Verdict, IsNotSaidOfDifferentWorkOrOfNoTimes) {
  const auto with = [](auto change) {
    Summary other = kDdp;
    change(other);
    return verdict({&kDp, &other});
  };
  EXPECT_NE(with([](Summary&) {}), "");
  EXPECT_EQ(with([](Summary& s) { s.arch = "vgg16"; }), "");
  EXPECT_EQ(with([](Summary& s) { s.clock = "measured"; }), "");
  EXPECT_EQ(with([](Summary& s) { s.train.steps[0].batch = 32; }), "");
  EXPECT_EQ(with([](Summary& s) { s.null_devices = true; }), "");
  EXPECT_EQ(with([](Summary& s) { s.imported = true; }), "");
  EXPECT_EQ(with([](Summary& s) { s.rank = 1; }), "") << "one rank of several";
  EXPECT_EQ(with([](Summary& s) { s.train.steps.clear(); }), "");
  EXPECT_EQ(verdict({&kDp}), "") << "nothing to compare with";
}

TEST(Verdict, IsNotSaidIfOtherProgramsUsedTheCores) {
  Summary a = kDp, b = kDdp;
  for (Summary* s : {&a, &b}) s->clock = "measured";
  a.train.steps[0].kernel_wall = 200, a.train.steps[0].kernel_cpu = 100;
  EXPECT_EQ(verdict({&a, &b}).find("No verdict: other programs"), 0u);
}

TEST(FasterWords, AreNeverARatioBelowOne) {
  EXPECT_EQ(faster_words(1000, 400), "2.5x faster");
  EXPECT_EQ(faster_words(400, 1000), "2.5x slower");
  EXPECT_EQ(faster_words(1000, 890), "1.12x faster");
  EXPECT_EQ(faster_words(1000, 1001), "the same");
  EXPECT_EQ(faster_words(1, 5000), ">999x slower");
}

}  // namespace
}  // namespace lockstep::tracer
