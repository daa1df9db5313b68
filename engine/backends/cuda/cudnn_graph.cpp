#include "engine/backends/cuda/cudnn_graph.h"

#include <algorithm>
#include <array>
#include <utility>

#include "engine/backends/cuda/status.h"

namespace lockstep::cuda {
namespace {

/// The ids by which a plan's tensors are known: a ∗ b → c.
constexpr int64_t kA = 1, kB = 2, kC = 3;

/// Returns a finalized descriptor of a tensor with logical sizes N×C×H×W that is stored
/// as N×H×W×C.
Descriptor tensor(int64_t id, const Shape& sizes, bool bf16, int64_t alignment) {
  const int64_t channels = sizes[1], height = sizes[2], width = sizes[3];
  const std::array<int64_t, 4> dims{sizes[0], channels, height, width};
  const std::array<int64_t, 4> strides{height * width * channels, 1, width * channels,
                                       channels};
  Descriptor made(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  made.set(CUDNN_ATTR_TENSOR_DATA_TYPE, bf16 ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_FLOAT);
  made.set(CUDNN_ATTR_TENSOR_DIMENSIONS, dims);
  made.set(CUDNN_ATTR_TENSOR_STRIDES, strides);
  made.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, id);
  made.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, alignment);
  made.finalize("a tensor of " + sizes.str());
  return made;
}

Descriptor convolution(const Attributes& a) {
  const std::array<int64_t, 2> ones{1, 1};
  const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
  Descriptor made(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  made.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_DATA_FLOAT);
  made.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode);
  made.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, int64_t{2});
  made.set(CUDNN_ATTR_CONVOLUTION_DILATIONS, ones);
  made.set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, a.stride);
  made.set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, a.padding);
  made.set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, a.padding);
  made.finalize("a convolution");
  return made;
}

/// The names that a direction's operation has for its parts.
struct OperationNames {
  cudnnBackendDescriptorType_t type;
  cudnnBackendAttributeName_t convolution, a, b, c, alpha, beta;
};

OperationNames names_of(Convolution::Direction direction) {
  switch (direction) {
    case Convolution::Direction::forward:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
    case Convolution::Direction::backward_data:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
    default:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
  }
}

/// Returns the tensors of a ∗ b → c, then the convolution, then the operation.
std::vector<Descriptor> parts_of(const Convolution& p, int64_t alignment) {
  using Way = Convolution::Direction;
  const bool forward = p.direction == Way::forward;
  const bool data = p.direction == Way::backward_data;
  std::vector<Descriptor> parts;
  parts.push_back(tensor(kA, data ? p.w : p.x, p.bf16, alignment));
  parts.push_back(tensor(kB, forward ? p.w : p.y, p.bf16, alignment));
  parts.push_back(tensor(kC, forward ? p.y : data ? p.x : p.w, p.bf16, alignment));
  parts.push_back(convolution(p.attributes));
  const OperationNames names = names_of(p.direction);
  Descriptor operation(names.type);
  operation.set(names.a, parts[0]);
  operation.set(names.b, parts[1]);
  operation.set(names.c, parts[2]);
  operation.set(names.convolution, parts[3]);
  operation.set(names.alpha, 1.0f);
  operation.set(names.beta, 0.0f);
  operation.finalize("a convolution's operation");
  parts.push_back(std::move(operation));
  return parts;
}

template <class T>
std::vector<T> values_of(cudnnBackendDescriptor_t descriptor,
                         cudnnBackendAttributeName_t name,
                         cudnnBackendAttributeType_t type, int64_t most) {
  std::vector<T> values(most);
  int64_t count = 0;
  check(cudnnBackendGetAttribute(descriptor, name, type, most, &count, values.data()),
        "cudnnBackendGetAttribute");
  values.resize(std::min(count, most));
  return values;
}

EngineConfig described(Descriptor config) {
  EngineConfig result;
  const Descriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  cudnnBackendDescriptor_t into = engine.get();
  int64_t count = 0;
  check(cudnnBackendGetAttribute(config.get(), CUDNN_ATTR_ENGINECFG_ENGINE,
                                 CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &into),
        "cudnnBackendGetAttribute of a config's engine");
  result.engine = values_of<int64_t>(engine.get(), CUDNN_ATTR_ENGINE_GLOBAL_INDEX,
                                     CUDNN_TYPE_INT64, 1)
                      .at(0);
  result.notes = values_of<cudnnBackendNumericalNote_t>(
      engine.get(), CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
      CUDNN_NUMERICAL_NOTE_TYPE_COUNT);
  result.config = std::make_shared<Descriptor>(std::move(config));
  return result;
}

}  // namespace

Descriptor::Descriptor(cudnnBackendDescriptorType_t type) {
  check(cudnnBackendCreateDescriptor(type, &descriptor_),
        "cudnnBackendCreateDescriptor");
}

Descriptor::Descriptor(Descriptor&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, nullptr)) {}

Descriptor::~Descriptor() {
  if (descriptor_) cudnnBackendDestroyDescriptor(descriptor_);
}

void Descriptor::set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                     int64_t count, const void* values) {
  check(cudnnBackendSetAttribute(descriptor_, name, type, count, values),
        "cudnnBackendSetAttribute of attribute " + std::to_string(name));
}

void Descriptor::set(cudnnBackendAttributeName_t name,
                     std::span<const int64_t> values) {
  set(name, CUDNN_TYPE_INT64, std::ssize(values), values.data());
}

void Descriptor::set(cudnnBackendAttributeName_t name, int64_t value) {
  set(name, CUDNN_TYPE_INT64, 1, &value);
}

void Descriptor::set(cudnnBackendAttributeName_t name, float value) {
  set(name, CUDNN_TYPE_FLOAT, 1, &value);
}

void Descriptor::set(cudnnBackendAttributeName_t name, cudnnDataType_t value) {
  set(name, CUDNN_TYPE_DATA_TYPE, 1, &value);
}

void Descriptor::set(cudnnBackendAttributeName_t name, const Descriptor& value) {
  const cudnnBackendDescriptor_t descriptor = value.get();
  set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &descriptor);
}

void Descriptor::finalize(const std::string& what) {
  check(cudnnBackendFinalize(descriptor_), "cudnnBackendFinalize of " + what);
}

bool Descriptor::try_finalize() {
  return cudnnBackendFinalize(descriptor_) == CUDNN_STATUS_SUCCESS;
}

// cuDNN can plan for GPUs that are not there since 9.8.
#if CUDNN_VERSION >= 90800

PlanningTarget described_target(const std::string& json) {
  auto made = std::make_shared<Descriptor>(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  made->set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
            std::ssize(json), json.data());
  made->finalize("a device's properties");
  return {nullptr, std::move(made)};
}

namespace {
constexpr auto kHeuristicTarget = CUDNN_ATTR_ENGINEHEUR_DEVICEPROP;
constexpr auto kPlanTarget = CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP;
}  // namespace

#else

PlanningTarget described_target(const std::string&) {
  throw std::runtime_error("this cuDNN cannot plan for a described GPU; fix: use 9.8");
}

namespace {
constexpr auto kHeuristicTarget = CUDNN_ATTR_ENGINEHEUR_MODE;  // never used
constexpr auto kPlanTarget = CUDNN_ATTR_EXECUTION_PLAN_HANDLE;
}  // namespace

#endif

bool EngineConfig::has(cudnnBackendNumericalNote_t note) const {
  return std::find(notes.begin(), notes.end(), note) != notes.end();
}

ConvolutionGraph::ConvolutionGraph(const Convolution& problem, int64_t alignment,
                                   const PlanningTarget& target)
    : target_(target),
      parts_(parts_of(problem, alignment)),
      graph_(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR) {
  if (target_.handle) {
    graph_.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &target_.handle);
  }
  graph_.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, parts_.back());
  graph_.finalize("a graph of " + problem.x.str() + " * " + problem.w.str());
}

std::vector<EngineConfig> ConvolutionGraph::suggestions() const {
  std::vector<EngineConfig> found;
  append_suggestions(CUDNN_HEUR_MODE_A, found);
  append_suggestions(CUDNN_HEUR_MODE_FALLBACK, found);
  return found;
}

/// Appends nothing if the heuristic does not cover the problem.
void ConvolutionGraph::append_suggestions(cudnnBackendHeurMode_t mode,
                                          std::vector<EngineConfig>& found) const {
  Descriptor heuristic(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristic.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph_);
  heuristic.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
  if (target_.described) {
    heuristic.set(kHeuristicTarget, *target_.described);
  }
  if (!heuristic.try_finalize()) return;
  int64_t count = 0;
  check(cudnnBackendGetAttribute(heuristic.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                 CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &count, nullptr),
        "cudnnBackendGetAttribute of the number of engines");
  std::vector<Descriptor> configs;
  std::vector<cudnnBackendDescriptor_t> into;
  for (int64_t i = 0; i < count; ++i) {
    configs.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    into.push_back(configs.back().get());
  }
  check(cudnnBackendGetAttribute(heuristic.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                 CUDNN_TYPE_BACKEND_DESCRIPTOR, count, &count,
                                 into.data()),
        "cudnnBackendGetAttribute of engines");
  for (int64_t i = 0; i < count; ++i) {
    found.push_back(described(std::move(configs[i])));
  }
}

std::unique_ptr<ExecutionPlan> ExecutionPlan::make(const EngineConfig& config,
                                                   const PlanningTarget& target) {
  Descriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  if (target.handle) {
    plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &target.handle);
  } else {
    plan.set(kPlanTarget, *target.described);
  }
  plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, *config.config);
  if (!plan.try_finalize()) return nullptr;
  std::unique_ptr<ExecutionPlan> made(new ExecutionPlan(std::move(plan)));
  made->workspace_ =
      values_of<int64_t>(made->plan_.get(), CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                         CUDNN_TYPE_INT64, 1)
          .at(0);
  return made;
}

void ExecutionPlan::execute(cudnnHandle_t handle, const void* a, const void* b, void* c,
                            void* workspace) const {
  const std::array<int64_t, 3> ids{kA, kB, kC};
  const std::array<const void*, 3> pointers{a, b, c};
  Descriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids);
  pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, 3,
           pointers.data());
  pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace);
  pack.finalize("a convolution's arguments");
  check(cudnnBackendExecute(handle, plan_.get(), pack.get()), "cudnnBackendExecute");
}

bool is_allowed(const EngineConfig& config, bool bf16, const BackendOptions& options) {
  if (options.deterministic && config.has(CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC)) {
    return false;
  }
  if (!bf16 && config.has(CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS)) return false;
  const bool full_precision = !bf16 && !options.tf32;
  return !full_precision ||
         (!config.has(CUDNN_NUMERICAL_NOTE_TENSOR_CORE) &&
          !config.has(CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION));
}

}  // namespace lockstep::cuda
