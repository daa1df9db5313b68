#include "engine/train/step_graph.h"

#include <stdexcept>
#include <utility>

#include "engine/ops/copy.h"
#include "engine/ops/ops.h"
#include "engine/runtime/device_context.h"

namespace lockstep::train {
namespace {

/// Allocates from the graph's memory pool, which is not shared with other users.
class GraphMemory {
 public:
  explicit GraphMemory(const std::vector<Device>& devices) : devices_(devices) {
    use(runtime::MemoryPool::graph);
  }
  ~GraphMemory() { use(runtime::MemoryPool::common); }
  GraphMemory(const GraphMemory&) = delete;

 private:
  void use(runtime::MemoryPool pool) {
    for (Device device : devices_) runtime::context(device).allocator().use_pool(pool);
  }
  const std::vector<Device>& devices_;
};

/// Returns all streams of the devices, the first device's compute stream first.
runtime::Streams streams_of(const std::vector<Device>& devices) {
  runtime::Streams streams;
  for (Device d : devices) {
    runtime::DeviceContext& device = runtime::context(d);
    for (runtime::Stream* s : {&device.compute(), &device.copy(), &device.comm()}) {
      streams.push_back(s);
    }
  }
  return streams;
}

uint64_t dropout_calls(const std::vector<Device>& devices) {
  uint64_t calls = 0;
  for (Device device : devices) calls += ops::dropout_calls(device);
  return calls;
}

}  // namespace

StepGraph::~StepGraph() {
  if (!owns_memory_) return;
  graph_ = nullptr;
  images_ = labels_ = {};
  results_ = {};
  workspaces_.clear();
  for (Device device : devices_) runtime::context(device).allocator().graph_ends();
}

StepTensors StepGraph::run(const Tensor& images, const Tensor& labels, double lr,
                           const Step& step) {
  if (graph_ && lr == lr_ && images.sizes() != sizes_) {
    return run_uncaptured(images, labels, step);  // an epoch's last, smaller batch
  }
  if (images.sizes() != sizes_ || lr != lr_) {
    runtime::context(devices_[0]).compute().record_event()->wait();  // for a replay
    graph_ = nullptr;
    sizes_ = images.sizes();
    lr_ = lr;
    warmed_up_ = 0;
  }
  if (!graph_ && warmed_up_++ < warm_ups_) return run_uncaptured(images, labels, step);
  if (!graph_) capture(images, labels, step);
  ops::copy_into(images, images_, {"d2d", "images"});
  ops::copy_into(labels, labels_, {"d2d", "labels"});
  runtime::replay(graph_, streams_of(devices_));
  ++replays_;
  return results_;
}

StepTensors StepGraph::run_uncaptured(const Tensor& images, const Tensor& labels,
                                      const Step& step) {
  const uint64_t drawn = dropout_calls(devices_);
  StepTensors results = step(images, labels);
  if (dropout_calls(devices_) != drawn) {
    throw std::runtime_error(
        "CUDA graphs replay fixed random numbers, so dropout would reuse its mask; "
        "fix: omit --cuda-graph, or use --dropout 0");
  }
  return results;
}

void StepGraph::capture(const Tensor& images, const Tensor& labels, const Step& step) {
  images_ = Tensor::empty(images.spec(), images.device());
  labels_ = Tensor::empty(labels.spec(), labels.device());
  if (!std::exchange(owns_memory_, true)) {
    for (Device device : devices_) runtime::context(device).allocator().graph_begins();
  }
  const GraphMemory memory(devices_);
  const auto capture_step = [&] { results_ = step(images_, labels_); };
  graph_ = runtime::capture(streams_of(devices_), capture_step);
  // A device reallocates its workspace to grow it; the graph keeps the current one.
  workspaces_.clear();
  for (Device device : devices_) {
    if (!graph_) runtime::context(device).rethrow();
    workspaces_.push_back(runtime::context(device).workspace_block());
  }
}

}  // namespace lockstep::train
