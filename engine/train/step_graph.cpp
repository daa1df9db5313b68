#include "engine/train/step_graph.h"

#include <stdexcept>

#include "engine/ops/copy.h"
#include "engine/ops/ops.h"
#include "engine/runtime/device_context.h"

namespace lockstep::train {
namespace {

/// Allocates from the graph's memory pool, which is not shared with other users.
class GraphMemory {
 public:
  explicit GraphMemory(runtime::Allocator& allocator) : allocator_(allocator) {
    allocator_.use_pool(runtime::MemoryPool::graph);
  }
  ~GraphMemory() { allocator_.use_pool(runtime::MemoryPool::common); }
  GraphMemory(const GraphMemory&) = delete;

 private:
  runtime::Allocator& allocator_;
};

}  // namespace

StepTensors StepGraph::run(const Tensor& images, const Tensor& labels, double lr,
                           const Step& step) {
  runtime::DeviceContext& device = runtime::context(images.device());
  if (graph_ && lr == lr_ && images.sizes() != sizes_) {
    return first_of_a_kind(images, labels, step);  // an epoch's last, smaller batch
  }
  if (images.sizes() != sizes_ || lr != lr_) {
    device.compute().record_event()->wait();  // the old graph may still be running
    graph_ = nullptr;
    sizes_ = images.sizes();
    lr_ = lr;
    return first_of_a_kind(images, labels, step);
  }
  if (!graph_) capture(images, labels, step);
  ops::copy_into(images, images_, {"d2d", "images"});
  ops::copy_into(labels, labels_, {"d2d", "labels"});
  device.compute().replay(graph_);
  ++replays_;
  return results_;
}

StepTensors StepGraph::first_of_a_kind(const Tensor& images, const Tensor& labels,
                                       const Step& step) {
  const uint64_t drawn = ops::dropout_calls(images.device());
  StepTensors results = step(images, labels);
  if (ops::dropout_calls(images.device()) != drawn) {
    throw std::runtime_error(
        "CUDA graphs replay fixed random numbers, so dropout would reuse its mask; "
        "fix: omit --cuda-graph, or use --dropout 0");
  }
  return results;
}

void StepGraph::capture(const Tensor& images, const Tensor& labels, const Step& step) {
  runtime::DeviceContext& device = runtime::context(images.device());
  images_ = Tensor::empty(images.spec(), images.device());
  labels_ = Tensor::empty(labels.spec(), labels.device());
  const GraphMemory memory(device.allocator());
  graph_ = device.compute().capture([&] { results_ = step(images_, labels_); });
  if (!graph_) device.rethrow();
  // The device reallocates its workspace to grow it; the graph keeps the current one.
  workspace_ = device.workspace_block();
}

}  // namespace lockstep::train
