#include "engine/autograd/engine.h"

#include <condition_variable>
#include <map>
#include <mutex>
#include <queue>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "engine/ops/op_call.h"
#include "engine/ops/ops.h"
#include "engine/runtime/device_context.h"
#include "tracer/format/keys.h"

namespace lockstep::autograd {
namespace keys = tracer::keys;
namespace {

/// The callbacks to run after a backward pass.
struct Callbacks {
  std::mutex mutex;
  std::vector<std::function<void()>> functions;
};

/// The callbacks of the backward pass that this thread is running; null outside of one.
thread_local Callbacks* callbacks_of_pass = nullptr;

/// One traversal of the tape by the device threads.
struct GraphTask {
  std::mutex mutex;
  std::condition_variable finished;
  std::unordered_map<Node*, int> dependencies;       ///< gradients still missing
  std::unordered_map<Node*, Tensors> input_buffers;  ///< gradients already received
  /// Host events that delivered a node's gradients, if recording.
  std::unordered_map<Node*, std::vector<int64_t>> delivered_by;
  int outstanding = 0;  ///< nodes queued or running
  std::exception_ptr error;
  int64_t started = 0;                    ///< ns
  std::map<Device, int64_t> last_events;  ///< of each device's thread
  Callbacks* callbacks = nullptr;         ///< of the enclosing backward pass
  tracer::ThreadContext context;          ///< of the thread that called `backward`
};

struct ReadyNode {
  NodePtr node;
  Tensors grads;
  std::shared_ptr<GraphTask> task;
  std::vector<int64_t> pushed_by;  ///< all host events that it needed
  uint64_t turn = 0;               ///< breaks ties in sequence number: FIFO
  bool operator<(const ReadyNode& other) const {
    if (node->sequence_nr() != other.node->sequence_nr()) {
      return node->sequence_nr() < other.node->sequence_nr();
    }
    return turn > other.turn;
  }
};

/// The ready nodes of one device, ordered latest in forward order first, and the thread
/// that runs them.
class DeviceThread {
 public:
  explicit DeviceThread(Device device) : device_(device), thread_([this] { loop(); }) {}
  ~DeviceThread() {
    {
      std::lock_guard lock(mutex_);
      closing_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  void push(ReadyNode ready) {
    {
      std::lock_guard lock(mutex_);
      ready.turn = turns_++;
      queue_.push(std::move(ready));
    }
    changed_.notify_one();
  }

 private:
  void loop();

  Device device_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::priority_queue<ReadyNode> queue_;
  uint64_t turns_ = 0;
  bool closing_ = false;
  std::thread thread_;
};

DeviceThread& thread_of(Device device) {
  static std::mutex mutex;
  static std::map<Device, std::unique_ptr<DeviceThread>> threads;
  if (!device.is_host()) runtime::context(device);  // must outlive our thread
  std::lock_guard lock(mutex);
  auto& slot = threads[device];
  if (!slot) slot = std::make_unique<DeviceThread>(device);
  return *slot;
}

/// Counts the gradients that each node reachable from `root` will receive.
void count_dependencies(Node* root, GraphTask& task) {
  std::vector<Node*> stack{root};
  std::unordered_set<Node*> seen{root};
  while (!stack.empty()) {
    Node* node = stack.back();
    stack.pop_back();
    for (const Edge& edge : node->next_edges) {
      if (!edge.node) continue;
      ++task.dependencies[edge.node.get()];
      if (seen.insert(edge.node.get()).second) stack.push_back(edge.node.get());
    }
  }
}

/// Records that a gradient of `node` has arrived. Records every delivery, not only the
/// last: on other hardware a different one may arrive last.
void note_delivery(GraphTask& task, Node* node) {
  const int64_t event = tracer::last_closed_event();
  if (tracer::recording() && event != tracer::kNone) {
    task.delivered_by[node].push_back(event);
  }
}

/// Removes and returns what a map holds for a node.
template <typename Value>
Value take(std::unordered_map<Node*, Value>& map, Node* node) {
  const auto found = map.extract(node);
  return found ? std::move(found.mapped()) : Value();
}

/// Adds a node's results to its successors' gradients; pushes nodes that become ready.
void deliver(const NodePtr& node, Tensors grads,
             const std::shared_ptr<GraphTask>& task) {
  for (size_t i = 0; i < node->next_edges.size(); ++i) {
    const Edge& edge = node->next_edges[i];
    if (!edge.node) continue;
    Tensor grad = i < grads.size() ? std::move(grads[i]) : Tensor();
    ReadyNode ready{edge.node, {}, task};
    {
      // Nodes of several devices may deliver to the same entry at once, so the addition
      // needs the lock, too.
      std::lock_guard lock(task->mutex);
      Tensors& buffer = task->input_buffers[edge.node.get()];
      if (buffer.empty()) buffer.resize(edge.node->output_count);
      Tensor& entry = buffer[edge.input_nr];
      entry = accumulate_grad(std::move(entry), std::move(grad));
      note_delivery(*task, edge.node.get());
      if (--task->dependencies[edge.node.get()] > 0) continue;
      ready.grads = take(task->input_buffers, edge.node.get());
      ready.pushed_by = take(task->delivered_by, edge.node.get());
      ++task->outstanding;
    }
    thread_of(edge.node->device()).push(std::move(ready));
  }
}

void run(ReadyNode ready, Device device) {
  const auto task = ready.task;
  try {
    bool failed;
    {
      std::lock_guard lock(task->mutex);
      failed = task->error != nullptr;
    }
    if (!failed) {
      NoGrad no_grad;
      CategoryScope category(MemoryCategory::gradients);
      deliver(ready.node, apply_node(*ready.node, std::move(ready.grads)), task);
    }
  } catch (...) {
    std::lock_guard lock(task->mutex);
    if (!task->error) task->error = std::current_exception();
  }
  ready.node.reset();
  ready.grads.clear();
  std::lock_guard lock(task->mutex);
  task->last_events[device] = tracer::last_closed_event();
  if (--task->outstanding == 0) task->finished.notify_all();
}

/// Records that this thread waited for the events that made `ready` ready to run.
void record_queue_wait(const ReadyNode& ready, int64_t waited_since) {
  if (!tracer::recording() || ready.pushed_by.empty()) return;
  tracer::HostEvent sync("sync", "autograd queue");
  sync.begin_at(std::max(waited_since, ready.task->started));
  sync.arg({keys::why, "queue"}).waits_for(ready.pushed_by);
}

void DeviceThread::loop() {
  tracer::name_host_thread("autograd " + device_.str());
  for (;;) {
    const int64_t waited_since = tracer::now_ns();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return closing_ || !queue_.empty(); });
    if (queue_.empty()) return;
    ReadyNode ready = queue_.top();
    queue_.pop();
    lock.unlock();
    tracer::thread_context() = ready.task->context;
    record_queue_wait(ready, waited_since);
    const std::shared_ptr<GraphTask> task = ready.task;
    callbacks_of_pass = task->callbacks;
    run(std::move(ready), device_);
    callbacks_of_pass = nullptr;
  }
}

std::vector<int64_t> last_events(const GraphTask& task) {
  std::vector<int64_t> events;
  for (const auto& [device, event] : task.last_events) {
    if (event != tracer::kNone) events.push_back(event);
  }
  return events;
}

/// Pushes the root node to its device's thread and waits until the last node has run.
void walk_on_device_threads(const Edge& root, Tensor grad) {
  auto task = std::make_shared<GraphTask>();
  count_dependencies(root.node.get(), *task);
  task->callbacks = callbacks_of_pass;
  task->context = tracer::thread_context();
  task->context.parent = tracer::innermost_event();
  task->started = tracer::now_ns();
  task->outstanding = 1;
  Tensors seed(root.node->output_count);
  seed[root.input_nr] = std::move(grad);
  ReadyNode first{root.node, std::move(seed), task};
  if (const int64_t event = tracer::last_closed_event(); event != tracer::kNone) {
    first.pushed_by = {event};
  }
  thread_of(root.node->device()).push(std::move(first));

  tracer::HostEvent sync("sync", "wait for autograd threads");
  sync.arg({keys::why, "join"});
  std::unique_lock lock(task->mutex);
  task->finished.wait(lock, [&] { return task->outstanding == 0; });
  sync.waits_for(last_events(*task));
  sync.close();
  // Moved out of the task, because a device thread may still hold the task briefly.
  const std::exception_ptr error = std::exchange(task->error, nullptr);
  lock.unlock();
  if (error) std::rethrow_exception(error);
}

void check_seed(const Tensor& root, const Tensor& gradient) {
  if (!root.requires_grad()) {
    throw std::runtime_error(
        "element 0 of tensors does not require grad and does not have a grad_fn");
  }
  if (!gradient.defined() && root.numel() != 1) {
    throw std::runtime_error("grad can be implicitly created only for scalar outputs");
  }
  if (gradient.defined() && gradient.sizes() != root.sizes()) {
    throw std::runtime_error(
        "Mismatch in shape: grad_output[0] has a shape of torch.Size(" +
        gradient.sizes().str() + ") and output[0] has a shape of torch.Size(" +
        root.sizes().str() + ").");
  }
}

}  // namespace

Tensors apply_node(Node& node, Tensors grads) {
  NoGrad no_grad;
  CategoryScope category(MemoryCategory::gradients);
  tracer::HostEvent event("op", node.name());
  event.set_fwd(node.forward_op());
  event.arg({keys::file, node.site().file_name()});
  event.arg({keys::line, static_cast<int64_t>(node.site().line())});
  ops::describe_shapes(event, grads);
  return node.apply(std::move(grads));
}

Tensor accumulate_grad(Tensor a, Tensor b) {
  if (!b.defined()) return a;
  if (!a.defined()) return b;
  NoGrad no_grad;
  CategoryScope category(MemoryCategory::gradients);
  if (!a.owns_memory_alone()) return ops::add(a, b);
  return ops::add_(a, b);
}

runtime::Slot<TapeWalk>& tape_walk() {
  static runtime::Slot<TapeWalk> in_use("tape_walk", walk_on_device_threads);
  return in_use;
}

void backward(const Tensor& root, const Tensor& gradient, std::source_location site) {
  check_seed(root, gradient);
  tracer::HostEvent call("call", "Tensor.backward");
  call.arg({keys::cpp, "Tensor::backward"}).arg({keys::file, site.file_name()});
  call.arg({keys::line, static_cast<int64_t>(site.line())});
  NoGrad no_grad;
  Tensor seed = gradient;
  if (!seed.defined()) {
    CategoryScope category(MemoryCategory::gradients);
    seed = ops::full_like(root, 1.0);
  }
  Callbacks callbacks;
  const auto outer = std::exchange(callbacks_of_pass, &callbacks);
  try {
    tape_walk()(gradient_edge(root), std::move(seed));
  } catch (...) {
    callbacks_of_pass = outer;
    throw;
  }
  callbacks_of_pass = outer;
  for (const auto& callback : callbacks.functions) callback();
}

void queue_callback(std::function<void()> callback) {
  if (callbacks_of_pass == nullptr) {
    throw std::runtime_error(
        "Final callbacks can only be installed during backward pass.");
  }
  std::lock_guard lock(callbacks_of_pass->mutex);
  callbacks_of_pass->functions.push_back(std::move(callback));
}

std::vector<Tensor> reachable_leaves(const Tensor& root) {
  std::vector<Tensor> leaves;
  std::unordered_set<Node*> seen;
  std::vector<Node*> stack{gradient_edge(root).node.get()};
  while (!stack.empty()) {
    Node* node = stack.back();
    stack.pop_back();
    if (node == nullptr || !seen.insert(node).second) continue;
    if (auto* leaf = dynamic_cast<AccumulateGrad*>(node)) {
      leaves.push_back(leaf->variable());
    }
    for (const Edge& edge : node->next_edges) stack.push_back(edge.node.get());
  }
  return leaves;
}

}  // namespace lockstep::autograd

namespace lockstep {
void Tensor::backward(std::source_location site) const {
  autograd::backward(*this, {}, site);
}
}  // namespace lockstep
