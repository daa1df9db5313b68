// A convolution through cuDNN's backend API: a graph of one operation, the engines that
// cuDNN suggests for it, and execution plans. A plan is finalized once and executed
// many times; the older functions (cudnnConvolutionForward and similar) make a new plan
// in every call.
//
// Plans can also be made for a GPU that is not there, described as JSON, which is how
// tests/gpu/cudnn_plans_test.cpp runs this file without a GPU.
// Source: cuDNN documentation, "Graph API", backend descriptor types (cudnn_graph.h).
#pragma once

#include <cudnn.h>

#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/backends/cuda/machine.h"

namespace lockstep::cuda {

/// An owned backend descriptor. Immutable after `finalize`; any thread may then use it.
class Descriptor {
 public:
  explicit Descriptor(cudnnBackendDescriptorType_t type);
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept;
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(Descriptor&&) = delete;

  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
           int64_t count, const void* values);
  void set(cudnnBackendAttributeName_t name, std::span<const int64_t> values);
  void set(cudnnBackendAttributeName_t name, int64_t value);
  void set(cudnnBackendAttributeName_t name, float value);
  void set(cudnnBackendAttributeName_t name, cudnnDataType_t value);
  void set(cudnnBackendAttributeName_t name, const Descriptor& value);
  /// Throws std::runtime_error that names `what` and cuDNN's reason.
  void finalize(const std::string& what);
  /// As `finalize`, but returns false instead of throwing.
  bool try_finalize();

  cudnnBackendDescriptor_t get() const { return descriptor_; }

 private:
  cudnnBackendDescriptor_t descriptor_ = nullptr;
};

/// The GPU for which plans are made: that of a handle, or a described one.
struct PlanningTarget {
  cudnnHandle_t handle = nullptr;
  std::shared_ptr<const Descriptor> described;
};

/// Returns a target from cuDNN's JSON of a device's properties. Its plans cannot be
/// executed.
PlanningTarget described_target(const std::string& json);

/// The workspace (bytes) that a convolution has at least: a queue may need another
/// engine than the chosen one, for tensors that are aligned only to their elements.
inline constexpr size_t kLeastWorkspace = size_t{8} << 20;

/// An engine with its settings, as cuDNN suggests it.
struct EngineConfig {
  std::shared_ptr<const Descriptor> config;
  int64_t engine = 0;  ///< cuDNN's global index
  std::vector<cudnnBackendNumericalNote_t> notes;

  bool has(cudnnBackendNumericalNote_t note) const;
};

/// A convolution as a graph of one operation, with images N×H×W×C and weights
/// O×kH×kW×C. `alignment` is that of all three tensors' addresses, in bytes.
class ConvolutionGraph {
 public:
  ConvolutionGraph(const Convolution& problem, int64_t alignment,
                   const PlanningTarget& target);

  /// Returns the engines that cuDNN's heuristics suggest, best first, followed by those
  /// that always work.
  std::vector<EngineConfig> suggestions() const;

  const PlanningTarget& target() const { return target_; }

 private:
  void append_suggestions(cudnnBackendHeurMode_t mode,
                          std::vector<EngineConfig>& found) const;

  PlanningTarget target_;
  std::vector<Descriptor> parts_;  ///< tensors, convolution, operation
  Descriptor graph_;
};

/// A finalized plan. One thread at a time may execute it.
class ExecutionPlan {
 public:
  /// Returns null if the engine does not support the problem on this GPU.
  static std::unique_ptr<ExecutionPlan> make(const EngineConfig& config,
                                             const PlanningTarget& target);

  size_t workspace() const { return workspace_; }  ///< bytes

  /// Enqueues the convolution on the handle's stream: a ∗ b → c as in ConvolutionPlan.
  /// Throws std::runtime_error if cuDNN rejects the call.
  void execute(cudnnHandle_t handle, const void* a, const void* b, void* c,
               void* workspace) const;

 private:
  explicit ExecutionPlan(Descriptor plan) : plan_(std::move(plan)) {}

  Descriptor plan_;
  size_t workspace_ = 0;
};

/// Returns true if the options (TF32, determinism) allow the engine.
bool is_allowed(const EngineConfig& config, bool bf16, const BackendOptions& options);

}  // namespace lockstep::cuda
