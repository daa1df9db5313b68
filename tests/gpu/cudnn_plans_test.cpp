// cuDNN's own planning, without a GPU: the library suggests engines and finalizes plans
// for an H100 described by its properties. What cannot be tested so is their execution.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/backends/cuda/cudnn_graph.h"
#include "tests/engine/backends/shapes.h"

namespace lockstep::cuda {
namespace {

using Way = Convolution::Direction;
constexpr Way kWays[] = {Way::forward, Way::backward_data, Way::backward_weight};
constexpr size_t kMostWorkspace = size_t{1} << 30;

/// Properties of an H100 SXM; the names are cuDNN's.
constexpr const char* kH100 = R"({
  "deviceName": "NVIDIA H100 80GB HBM3", "cudaDeviceId": 0, "deviceVer": 900,
  "driverVer": 13000, "maxGridSize": [2147483647, 65535, 65535],
  "maxBlockSize": [1024, 1024, 64], "regsPerBlock": 65536, "multiProcessorCount": 132,
  "smClockRateKHz": 1980000, "memClockRateKHz": 2619000, "l2CacheSize": 52428800,
  "warpSize": 32, "maxSharedMemoryPerBlock": 49152,
  "maxSharedMemoryPerBlockOptin": 232448, "reservedSharedMemoryPerBlock": 1024,
  "maxRegistersPerSM": 65536, "pciDeviceId": 0, "maxCtasPerSM": 32,
  "maxThreadsPerBlock": 1024, "maxThreadsPerSM": 2048, "isTccDriver": 0,
  "supportCoopLaunch": 1, "totalGlobalMem": 85029158912
})";

struct Precision {
  const char* name;
  bool bf16, tf32;
};
constexpr Precision kPrecisions[] = {
    {"float32", false, false}, {"tf32", false, true}, {"bfloat16", true, true}};

Convolution problem_of(const test::Convolution& c, Way way, bool bf16) {
  const int64_t to = (c.size + 2 * c.padding - c.kernel) / c.stride + 1;
  Convolution p{way,
                {c.batch, c.in, c.size, c.size},
                {c.out, c.in, c.kernel, c.kernel},
                {c.batch, c.out, to, to},
                {},
                bf16};
  p.attributes.stride = {c.stride, c.stride};
  p.attributes.padding = {c.padding, c.padding};
  return p;
}

/// Returns the first allowed engine whose plan needs at most `workspace` bytes.
const EngineConfig* first_allowed(const std::vector<EngineConfig>& configs, bool bf16,
                                  const BackendOptions& options,
                                  const PlanningTarget& target, size_t workspace) {
  for (const EngineConfig& config : configs) {
    if (!is_allowed(config, bf16, options)) continue;
    const auto plan = ExecutionPlan::make(config, target);
    if (plan && plan->workspace() <= workspace) return &config;
  }
  return nullptr;
}

class CudnnPlans : public testing::Test {
 protected:
  const EngineConfig* chosen(const test::Convolution& c, Way way,
                             const Precision& precision, bool deterministic,
                             int64_t alignment = 16,
                             size_t workspace = kMostWorkspace) {
    BackendOptions options;
    options.tf32 = precision.tf32;
    options.deterministic = deterministic;
    const ConvolutionGraph graph(problem_of(c, way, precision.bf16), alignment, h100_);
    configs_ = graph.suggestions();
    return first_allowed(configs_, precision.bf16, options, h100_, workspace);
  }

  const PlanningTarget h100_ = described_target(kH100);

 private:
  std::vector<EngineConfig> configs_;
};

TEST_F(CudnnPlans, EveryConvolutionOfTheNetsHasAPlanInEachPrecision) {
  for (const auto& net : {std::vector<test::Convolution>(std::begin(test::kResNet18),
                                                         std::end(test::kResNet18)),
                          std::vector<test::Convolution>(std::begin(test::kVgg16),
                                                         std::end(test::kVgg16)),
                          std::vector<test::Convolution>(std::begin(test::kResNet50),
                                                         std::end(test::kResNet50))}) {
    for (const test::Convolution& c : net) {
      for (const Way way : kWays) {
        for (const Precision& precision : kPrecisions) {
          SCOPED_TRACE(c.str() + " " + precision.name + " direction " +
                       std::to_string(static_cast<int>(way)));
          // A deterministic engine will do for both.
          EXPECT_NE(chosen(c, way, precision, true), nullptr);
        }
      }
    }
  }
}

/// A smaller and odder set, among them channels that tensor cores cannot use directly.
TEST_F(CudnnPlans, OddChannelsHavePlansInEachPrecision) {
  const test::Convolution odd[] = {{2, 3, 8, 3, 1, 1, 8},
                                   {2, 8, 12, 3, 2, 1, 8},
                                   {1, 5, 7, 3, 2, 1, 9},
                                   {2, 1, 4, 3, 1, 0, 6},
                                   {2, 16, 4, 1, 1, 0, 1}};
  for (const test::Convolution& c : odd) {
    for (const Way way : kWays) {
      for (const Precision& precision : kPrecisions) {
        SCOPED_TRACE(c.str() + " " + precision.name + " direction " +
                     std::to_string(static_cast<int>(way)));
        EXPECT_NE(chosen(c, way, precision, true), nullptr);
      }
    }
  }
}

TEST_F(CudnnPlans, TensorsAlignedOnlyToTheirElementsHavePlans) {
  for (const test::Convolution& c : test::kResNet18) {
    for (const Way way : kWays) {
      for (const Precision& precision : kPrecisions) {
        SCOPED_TRACE(c.str() + " " + precision.name);
        const int64_t element = precision.bf16 ? 2 : 4;
        for (const bool deterministic : {false, true}) {
          EXPECT_NE(chosen(c, way, precision, deterministic, element, kLeastWorkspace),
                    nullptr);
        }
      }
    }
  }
}

TEST_F(CudnnPlans, TheOptionsFilterEngines) {
  const test::Convolution& c = test::kResNet18[1];
  const EngineConfig* tf32 = chosen(c, Way::forward, kPrecisions[1], false);
  ASSERT_NE(tf32, nullptr);
  EXPECT_TRUE(tf32->has(CUDNN_NUMERICAL_NOTE_TENSOR_CORE));
  const EngineConfig* full = chosen(c, Way::forward, kPrecisions[0], false);
  ASSERT_NE(full, nullptr);
  EXPECT_FALSE(full->has(CUDNN_NUMERICAL_NOTE_TENSOR_CORE));
  EXPECT_FALSE(full->has(CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS));
  const EngineConfig* repeats = chosen(c, Way::backward_weight, kPrecisions[1], true);
  ASSERT_NE(repeats, nullptr);
  EXPECT_FALSE(repeats->has(CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC));
}

/// float16 cannot hold float32's small gradients and large activations: an engine may
/// round float32 to TF32, and not convert it.
TEST_F(CudnnPlans, NoEngineForTf32ConvertsItsInputs) {
  size_t on_tensor_cores = 0;
  for (const test::Convolution& c : test::kResNet18) {
    for (const Way way : kWays) {
      SCOPED_TRACE(c.str() + " direction " + std::to_string(static_cast<int>(way)));
      const ConvolutionGraph graph(problem_of(c, way, false), 16, h100_);
      for (const EngineConfig& engine : graph.suggestions()) {
        if (!is_allowed(engine, false, BackendOptions())) continue;
        EXPECT_FALSE(engine.has(CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS));
        on_tensor_cores += engine.has(CUDNN_NUMERICAL_NOTE_TENSOR_CORE);
      }
    }
  }
  EXPECT_GT(on_tensor_cores, 0u);
}

TEST_F(CudnnPlans, AnErrorNamesTheCallAndTheReason) {
  try {
    described_target("{}");
    FAIL();
  } catch (const std::exception& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find("cudnnBackendFinalize of a device's properties"),
              std::string::npos)
        << message;
  }
}

}  // namespace
}  // namespace lockstep::cuda
