// `--mode hybrid`: what a run moves, which damage `trace check` rejects, and which
// requests it cannot obey.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <set>

#include "run/environment.h"
#include "run/train.h"
#include "tracer/analysis/check.h"
#include "tracer/analysis/hybrid_step.h"
#include "tracer/format/keys.h"

namespace lockstep::run {
namespace {

namespace fs = std::filesystem;
namespace keys = tracer::keys;
namespace reasons = tracer::reasons;
using tracer::Event;
using tracer::Trace;

/// VGG16 for ten 32-pixel images, in chunks of 4, 4 and 2; computes nothing.
RunConfig hybrid_config(const std::string& arch = "vgg16") {
  RunConfig config;
  config.mode = train::Mode::hybrid;
  config.model.arch = arch;
  config.device.type = DeviceType::null;
  config.device.count = 4;
  config.data.kind = DataKind::generated;
  config.data.length = 10;
  config.recipe.batch_size = 10;
  config.steps = 1;
  config.output.quiet = true;
  return config;
}

Trace record_hybrid(RunConfig config) {
  const fs::path file =
      fs::temp_directory_path() / ("hybrid-" + std::to_string(::getpid()) + ".json");
  config.output.trace = file;
  Trace trace;
  EXPECT_EQ(run_training(config, &trace), 0);
  fs::remove(file);
  return trace;
}

const Trace& recorded_hybrid() {
  static const Trace once = record_hybrid(hybrid_config());
  return once;
}

std::set<std::string> hybrid_laws_broken(const Trace& trace) {
  std::set<std::string> laws;
  for (const tracer::Finding& finding : tracer::check_trace(trace).findings) {
    if (finding.ok || finding.law == "sources-present") continue;  // tests embed none
    laws.insert(finding.law);
  }
  return laws;
}

using Laws = std::set<std::string>;

/// "why src>dst" of each route, with its bytes; the host is -1.
std::map<std::string, int64_t> routes_of(const Trace& trace) {
  std::map<std::string, int64_t> bytes;
  for (const Event& event : trace.events) {
    if (!event.is("copy")) continue;
    const tracer::CopyFacts copy = tracer::copy_facts(event);
    bytes[fmt::format("{} {}>{}", copy.why, copy.src, copy.dst)] += copy.bytes;
  }
  return bytes;
}

constexpr int64_t kFeatureBytes = 14'714'688 * 4;  ///< torchvision's VGG16

TEST(HybridRun, MovesActivationsAndGradientsOfFeatures) {
  const Trace& trace = recorded_hybrid();
  EXPECT_EQ(hybrid_laws_broken(trace), Laws{});
  auto bytes = routes_of(trace);
  for (int d = 0; d < 3; ++d) {
    const int64_t rows = d < 2 ? 4 : 2;
    EXPECT_EQ(bytes[fmt::format("activation {}>3", d)], rows * 512 * 4);
    EXPECT_EQ(bytes[fmt::format("activation_grad 3>{}", d)], rows * 512 * 4);
    EXPECT_NEAR(double(bytes[fmt::format("all_reduce {}>{}", d, (d + 1) % 3)]),
                4.0 / 3 * kFeatureBytes, 8);
    EXPECT_EQ(bytes[fmt::format("replicate 0>{}", d)], d > 0 ? kFeatureBytes : 0);
  }
  for (const auto& [route, sum] : bytes) {
    const bool at_classifier = route.ends_with(">3") || route.find(" 3>") != route.npos;
    EXPECT_TRUE(!at_classifier || sum <= 10 * 512 * 4) << route;
  }
}

TEST(HybridRun, ObeysItsLawsOnAnyNumberOfDevices) {
  for (const int devices : {2, 3, 5}) {
    RunConfig config = hybrid_config("vgg16_bn");
    config.device.count = devices;
    config.data.length = 14;  // batches of 10 and 4; then an evaluation
    config.recipe.epochs = 1;
    config.steps = -1;
    EXPECT_EQ(hybrid_laws_broken(record_hybrid(config)), Laws{}) << devices;
  }
}

// Batch norm on the first device writes the statistics that the copies read.
TEST(HybridRun, BatchNormWaitsUntilItsStatisticsAreCopied) {
  const Trace trace = record_hybrid(hybrid_config("vgg16_bn"));
  std::map<int64_t, int64_t> last_copy;  // to each device
  std::set<int64_t> awaited;             // by the first device, until batch norm
  int64_t batch_norm = tracer::kNone;
  std::map<int64_t, const Event*> kernels;  // by id: in the order of enqueueing
  for (const Event& event : trace.events) {
    if (event.is("copy")) {
      const tracer::CopyFacts copy = tracer::copy_facts(event);
      if (copy.why == reasons::replicate) {
        last_copy[copy.dst] = std::max(last_copy[copy.dst], event.id);
      }
    }
    if (event.is("kernel") && int_arg(event.args, keys::device) == 0) {
      kernels[event.id] = &event;
    }
  }
  for (const auto& [id, kernel] : kernels) {
    awaited.insert(kernel->deps.begin(), kernel->deps.end());
    if (kernel->name == "batch_norm") {
      batch_norm = id;
      break;
    }
  }
  ASSERT_NE(batch_norm, tracer::kNone);
  ASSERT_EQ(last_copy.size(), 2u);
  for (const auto& [device, copy] : last_copy) {
    EXPECT_TRUE(awaited.contains(copy)) << "the last copy to device " << device;
  }
}

TEST(HybridRun, ObeysItsLawsWithAccumulationAndClipping) {
  RunConfig config = hybrid_config("vgg16_bn");
  config.data.length = 30;
  config.steps = 3;
  config.recipe.accumulate = 2;
  config.recipe.clip_grad_norm = 1;
  EXPECT_EQ(hybrid_laws_broken(record_hybrid(config)), Laws{});
}

TEST(HybridRun, EvaluatesWithoutGradients) {
  RunConfig config = hybrid_config("vgg16_bn");
  config.evaluate = true;
  config.steps = -1;
  const Trace trace = record_hybrid(config);
  EXPECT_EQ(hybrid_laws_broken(trace), Laws{});
  for (const auto& [route, sum] : routes_of(trace)) {
    EXPECT_FALSE(route.starts_with("activation_grad") ||
                 route.starts_with("all_reduce"))
        << route;
  }
}

TEST(HybridRun, TheLedgerIsThePlansClosedForm) {
  const tracer::HybridLedger ledger = tracer::hybrid_ledger(recorded_hybrid());
  const auto planned =
      plan::hybrid_port_bytes(kFeatureBytes / 4, 4, 3, {8192, 8192, 4096});
  ASSERT_EQ(ledger.rows.size(), 4u);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(ledger.rows[i].hybrid, planned[i]) << i;
    EXPECT_GT(ledger.rows[i].ddp.out, 5 * ledger.rows[i].hybrid.out) << i;
  }
  EXPECT_NE(tracer::hybrid_text(ledger).find("device 3 (classifier)"),
            std::string::npos);
  EXPECT_EQ(tracer::hybrid_json(ledger)["ports"].size(), 4u);
  Trace other = recorded_hybrid();
  other.lockstep["mode"] = "dp-features";
  EXPECT_EQ(tracer::hybrid_text(tracer::hybrid_ledger(other)), "");
}

/// Returns the laws that the trace violates after `damage(event)` has changed the first
/// event for which it returns true.
template <typename Damage>
Laws laws_of_damaged(Damage damage) {
  Trace trace = recorded_hybrid();
  for (Event& event : trace.events) {
    if (damage(event)) return hybrid_laws_broken(trace);
  }
  ADD_FAILURE() << "no event to damage";
  return {};
}

/// Doubles the bytes of the first copy for this reason, and its shape.
auto doubled(const char* why) {
  return [why](Event& event) {
    if (!event.is("copy")) return false;
    const tracer::CopyFacts copy = tracer::copy_facts(event);
    if (copy.why != why) return false;
    const int64_t bytes = copy.bytes;
    event.args[keys::bytes] = 2 * bytes;
    event.args[keys::shape] = {2 * bytes / 4};
    event.args[keys::dtype] = "float32";
    return true;
  };
}

TEST(HybridRun, CheckRejectsWrongBytes) {
  EXPECT_EQ(laws_of_damaged(doubled(reasons::scatter)), Laws{"inputs-of-hybrid"});
  EXPECT_EQ(laws_of_damaged(doubled(reasons::activation)), Laws{"features-gathered"});
  EXPECT_EQ(laws_of_damaged(doubled(reasons::activation_grad)), Laws{"features-grad"});
  EXPECT_EQ(laws_of_damaged(doubled(reasons::replicate)), Laws{"replicas-bytes"});
  EXPECT_EQ(laws_of_damaged(doubled(reasons::all_reduce)), Laws{"features-ring"});
}

TEST(HybridRun, CheckRejectsWeightsThatAreSentAgain) {
  EXPECT_EQ(laws_of_damaged([](Event& event) {
              if (!event.args.contains(keys::feature_devices)) return false;
              event.args[keys::broadcast_bytes] = 64;
              return true;
            }),
            Laws{"replicas-bytes"});
}

TEST(HybridRun, CheckRejectsGradientsThatAreNotSummed) {
  EXPECT_EQ(laws_of_damaged([](Event& event) {
              if (!event.is("collective")) return false;
              event.args[keys::bytes] = kFeatureBytes / 2;
              return true;
            }),
            Laws{"features-reduced"});
}

TEST(HybridRun, CheckRejectsASumWithTheClassifier) {
  EXPECT_EQ(laws_of_damaged([](Event& event) {
              if (!event.is("collective")) return false;
              event.args[keys::group_size] = 4;
              return true;
            }),
            Laws{"features-reduced"});
}

TEST(HybridRun, CheckRejectsWeightsOfTheClassifier) {
  EXPECT_EQ(laws_of_damaged([](Event& event) {
              if (!event.is("copy")) return false;
              const tracer::CopyFacts copy = tracer::copy_facts(event);
              if (copy.why != reasons::d2h || copy.src != 3) return false;
              event.args[keys::why] = reasons::p2p;
              return true;
            }),
            Laws{"classifier-stays"});
}

TEST(HybridRun, CheckRejectsWrongFacts) {
  EXPECT_EQ(laws_of_damaged([](Event& event) {
              if (!event.args.contains(keys::feature_devices)) return false;
              event.args[keys::output_device] = 0;
              return true;
            }),
            Laws{"hybrid-facts"});
}

std::string refusal(const RunConfig& config) {
  try {
    validate(config);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(HybridRun, RefusesWhatItCannotDo) {
  EXPECT_EQ(refusal(hybrid_config("alexnet")), "");
  EXPECT_EQ(refusal(hybrid_config("resnet18")),
            "--mode hybrid separates a model's features from its classifier, but -a "
            "resnet18 has no such parts; fix: use -a vgg16, vgg16_bn or alexnet");
  RunConfig one = hybrid_config();
  one.device.count = 1;
  EXPECT_EQ(refusal(one),
            "--mode hybrid needs a device for the classifier and at least one for the "
            "features, but there is only 1; fix: add --devices 4");
  RunConfig ranks = hybrid_config();
  ranks.distributed.multiprocessing = true;
  EXPECT_NE(refusal(ranks).find("--mode hybrid uses one process"), std::string::npos);
  RunConfig input = hybrid_config();
  input.device.input_on = InputOn::device0;
  EXPECT_NE(refusal(input).find("; fix: omit --input-on"), std::string::npos);
}

}  // namespace
}  // namespace lockstep::run
