#include "run/config.h"

#include <gtest/gtest.h>

#include <limits>

#include "run/devices.h"
#include "run/environment.h"
#include "run/words.h"

namespace lockstep::run {
namespace {

template <typename Enum>
void expect_round_trip() {
  for (const auto& [text, value] : words<Enum>()) {
    EXPECT_EQ(word(value), text);
    EXPECT_EQ(value_of<Enum>(text), value);
  }
  EXPECT_FALSE(value_of<Enum>("nothing"));
}

TEST(Words, EachNamesOneValue) {
  expect_round_trip<DataKind>();
  expect_round_trip<OnBadImage>();
  expect_round_trip<InputOn>();
  expect_round_trip<DistBackend>();
  expect_round_trip<DdpSync>();
  expect_round_trip<train::Mode>();
  expect_round_trip<DeviceType>();
  expect_round_trip<DType>();
  expect_round_trip<ConvAlgorithm>();
  expect_round_trip<models::Stem>();
  expect_round_trip<optim::Schedule::Kind>();
  expect_round_trip<plan::BucketRule>();
  expect_round_trip<OptimizerKind>();
}

TEST(Words, ModesAreCalledAsInTraces) {
  for (const auto& [text, mode] : words<train::Mode>()) {
    EXPECT_EQ(text, train::name(mode));
  }
  EXPECT_THROW(word(DeviceType::host), std::out_of_range);
}

TEST(ModeOf, FollowsTheExamplesRules) {
  RunConfig config;
  EXPECT_EQ(mode_of(config), train::Mode::dp);
  for (const char* arch : {"vgg16", "alexnet"}) {
    config.model.arch = arch;
    EXPECT_EQ(mode_of(config), train::Mode::dp_features);
  }
  config.mode = train::Mode::dp;
  EXPECT_EQ(mode_of(config), train::Mode::dp);
  config.device.gpu = 1;
  EXPECT_EQ(mode_of(config), train::Mode::single);
  config.distributed.multiprocessing = true;
  EXPECT_EQ(mode_of(config), train::Mode::ddp);
}

/// As in the example: without --seed each run differs, with it kernels repeat.
TEST(Seed, IsDrawnUnlessGiven) {
  RunConfig config;
  config.recipe.seed = 5;
  resolve_seed(config);  // of a program that sets it
  EXPECT_EQ(config.recipe.seed, 5u);
  EXPECT_FALSE(config.device.deterministic);
  std::set<uint64_t> drawn;
  config.draws_seed = true;
  for (int i = 0; i < 20; ++i) {
    resolve_seed(config);
    drawn.insert(config.recipe.seed);
  }
  EXPECT_GT(drawn.size(), 15u);
  EXPECT_FALSE(config.device.deterministic);
}

TEST(Seed, IfGivenSelectsDeterministicKernels) {
  RunConfig config;
  config.recipe.seed = 5;
  config.given = {"--seed"};
  resolve_seed(config);
  EXPECT_TRUE(config.device.deterministic);
  EXPECT_EQ(config.recipe.seed, 5u);
  config.device = {.benchmark = true};
  resolve_seed(config);
  EXPECT_FALSE(config.device.deterministic) << "--benchmark takes precedence";
}

TEST(DevicesOf, OneOrAllOfThem) {
  RunConfig config;
  EXPECT_EQ(devices_of(config).size(), 4u);
  config.device.count = 3;
  EXPECT_EQ(devices_of(config).back().str(), "cpu:2");
  config.device.gpu = 1;
  ASSERT_EQ(devices_of(config).size(), 1u);
  EXPECT_EQ(devices_of(config)[0].str(), "cpu:1");
}

TEST(DevicesOf, TheIdsInTheirOrder) {
  RunConfig config;
  config.device.device_ids = {2, 0};
  ASSERT_EQ(devices_of(config).size(), 2u);
  EXPECT_EQ(devices_of(config)[0].str(), "cpu:2");
  EXPECT_EQ(devices_of(config)[1].str(), "cpu:0");
}

std::string complaint(const RunConfig& config) {
  try {
    validate(config);
    return "";
  } catch (const UsageError& error) {
    return error.what();
  }
}

TEST(Validate, TheDefaultsAreFine) { EXPECT_EQ(complaint({}), ""); }

TEST(Validate, AFlagThatTheModeWouldNotReadIsRefused) {
  RunConfig config;
  config.given = {"--bucket-cap-mb"};
  EXPECT_EQ(complaint(config),
            "--bucket-cap-mb requires DistributedDataParallel; fix: add --mode ddp or "
            "--multiprocessing-distributed");
  config.mode = train::Mode::ddp;
  EXPECT_EQ(complaint(config), "");
  config.mode = train::Mode::single;
  config.distributed.multiprocessing = true;
  EXPECT_EQ(complaint(config),
            "--mode single uses one process, but this is one of several ranks; fix: "
            "omit --mode single, since ranks train with ddp");
}

TEST(Validate, BackendsOfProcessesTakeRanksOfAnyLauncher) {
  RunConfig config;
  config.given = {"--dist-backend"};
  config.mode = train::Mode::ddp;
  for (const DistBackend backend : {DistBackend::gloo, DistBackend::mpi}) {
    config.distributed = {};
    config.distributed.backend = backend;
    EXPECT_NE(complaint(config).find("requires processes"), std::string::npos);
    config.distributed.url = "env://";
    EXPECT_EQ(complaint(config), "");
  }
  config.distributed = {};
  config.distributed.backend = DistBackend::gloo;
  config.environment.variables = {{"LOCKSTEP_RANK", "0"}, {"LOCKSTEP_WORLD", "2"}};
  EXPECT_EQ(complaint(config), "") << "launch";
}

TEST(Validate, DevicesThatContradictEachOther) {
  RunConfig config;
  config.device.gpu = 4;
  config.device.count = 4;
  EXPECT_EQ(complaint(config), "--gpu 4: there are only 4 devices");
  config.device.count = 1;
  EXPECT_EQ(complaint(config), "--gpu 4: there is only 1 device");
  config.mode = train::Mode::dp;
  EXPECT_EQ(complaint(config),
            "--gpu trains on one device and cannot be used with --mode dp");
}

TEST(Validate, DevicesOfDataParallelAreTheNotebooks) {
  RunConfig config;
  config.device.device_ids = {1, 0};
  EXPECT_EQ(
      complaint(config),
      "--device-ids requires -a toy with DataParallel: a training run uses devices 0, "
      "1, … in this order; fix: choose their number with --devices");
  config.model.arch = "toy";
  EXPECT_EQ(complaint(config), "");
  config.device.output_device = 4;
  EXPECT_EQ(complaint(config),
            "--device-ids: Invalid device id 4: there are 4 devices; fix: "
            "increase --devices");
  config.device.count = 5;
  EXPECT_EQ(complaint(config), "");
  config.device.device_ids = {5};
  EXPECT_NE(complaint(config), "");
}

TEST(Validate, TheInputsPlaceIsDataParallels) {
  RunConfig config;
  config.device.input_on = InputOn::host;
  EXPECT_EQ(complaint(config), "");
  config.mode = train::Mode::single;
  EXPECT_EQ(complaint(config),
            "--input-on says where DataParallel finds its input, but --mode single "
            "copies the input to its device; fix: omit --input-on, or use --mode dp");
}

TEST(Validate, TheNotebookPrintsGatheredOutputs) {
  RunConfig config;
  config.mode = train::Mode::dp_criterion;
  config.device.input_on = InputOn::device0;
  EXPECT_EQ(complaint(config), "");
  config.model.arch = "toy";
  EXPECT_EQ(complaint(config),
            "-a toy runs forward passes only and prints the gathered output, but "
            "--mode dp-criterion gathers none; fix: use --mode dp, or another model");
}

TEST(Optimizer, HasPyTorchsDefaultsUnlessTold) {
  RunConfig config;
  resolve_switches(config);
  EXPECT_EQ(config.recipe.lr, 0.1);
  EXPECT_EQ(config.recipe.weight_decay, 1e-4);
  config.recipe.optimizer = OptimizerKind::adam;
  resolve_switches(config);
  EXPECT_EQ(config.recipe.lr, 1e-3);
  EXPECT_EQ(config.recipe.weight_decay, 0);
  config.recipe.optimizer = OptimizerKind::adamw;
  resolve_switches(config);
  EXPECT_EQ(config.recipe.lr, 1e-3);
  EXPECT_EQ(config.recipe.weight_decay, 1e-2);
  config.recipe.optimizer = OptimizerKind::rmsprop;
  resolve_switches(config);
  EXPECT_EQ(config.recipe.lr, 1e-2);
  EXPECT_EQ(config.recipe.momentum, 0);
  config.given = {"--lr", "--weight-decay", "--momentum"};
  config.recipe.lr = 0.5;
  config.recipe.weight_decay = 0.25;
  config.recipe.momentum = 0.125;
  resolve_switches(config);
  EXPECT_EQ(config.recipe.lr, 0.5);
  EXPECT_EQ(config.recipe.weight_decay, 0.25);
  EXPECT_EQ(config.recipe.momentum, 0.125);
}

TEST(Validate, FlagsThatTheOptimizerWouldNotRead) {
  RunConfig config;
  config.given = {"--amsgrad"};
  EXPECT_EQ(complaint(config),
            "--amsgrad has no effect on --optimizer sgd; fix: omit it, or use "
            "--optimizer adam");
  config.recipe.optimizer = OptimizerKind::adam;
  EXPECT_EQ(complaint(config), "");
  config.given = {"--momentum"};
  EXPECT_EQ(complaint(config),
            "--momentum has no effect on --optimizer adam; fix: omit it, or use "
            "--optimizer sgd");
  config.given = {};
  config.recipe.beta1 = 1;
  EXPECT_EQ(complaint(config), "--beta1 must be at least 0 and less than 1");
}

TEST(Validate, FlagsThatTheScheduleWouldNotRead) {
  RunConfig config;
  config.recipe.schedule = optim::Schedule::Kind::multi_step;
  EXPECT_EQ(complaint(config),
            "--schedule multi-step requires --lr-milestones, such as 30,60,80");
  config.recipe.lr_milestones = {30};
  EXPECT_EQ(complaint(config), "");
  config.given = {"--pct-start"};
  EXPECT_EQ(complaint(config),
            "--pct-start has no effect on --schedule multi-step; fix: omit it, or use "
            "--schedule one-cycle");
  config.recipe.schedule = optim::Schedule::Kind::one_cycle;
  EXPECT_EQ(complaint(config), "");
  config.given = {"--momentum"};
  EXPECT_EQ(complaint(config),
            "--momentum has no effect on --schedule one-cycle, which moves it between "
            "0.95 and 0.85, as OneCycleLR does; fix: omit it");
  config.given = {};
  config.recipe.div_factor = 0;
  EXPECT_EQ(complaint(config), "--div-factor must be a number greater than 0");
  config.recipe.schedule = optim::Schedule::Kind::step;
  config.recipe.nesterov = true;
  config.recipe.momentum = 0;
  EXPECT_EQ(complaint(config),
            "--nesterov requires --momentum greater than 0; fix: omit one of them");
}

TEST(Validate, NumbersThatMakeNoSense) {
  RunConfig config;
  config.recipe.clip_grad_norm = 0;
  EXPECT_EQ(complaint(config), "--clip-grad-norm must be a number greater than 0");
  config.recipe.momentum = -1;
  EXPECT_EQ(complaint(config), "--momentum must be a number of at least 0");
  config.recipe.momentum = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(complaint(config), "--momentum must be a number of at least 0");
}

}  // namespace
}  // namespace lockstep::run
