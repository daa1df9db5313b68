#include "engine/runtime/device_context.h"

#include <map>
#include <stdexcept>

#include "base/container.h"
#include "engine/backends/backend.h"
#include "engine/runtime/pace.h"
#include "tracer/format/keys.h"

namespace lockstep::runtime {
namespace keys = tracer::keys;

Options& options() {
  static Options instance;
  return instance;
}

DeviceContext::DeviceContext(Device device)
    : device_(device),
      backend_(&backend_of(device.type)),
      threads_(options().threads_per_device),
      allocator_(device, computes(device.type), backend_->driver()),
      compute_(std::make_unique<Stream>(*this, StreamKind::compute)),
      copy_(std::make_unique<Stream>(*this, StreamKind::copy)),
      comm_(std::make_unique<Stream>(*this, StreamKind::comm)) {}

DeviceContext::~DeviceContext() { workspace_.reset(); }

Driver* DeviceContext::driver() const { return backend_->driver(); }

CoreTokens& DeviceContext::tokens() {
  // Never destroyed: streams may still run tasks while the process exits.
  static auto* const tokens =
      new CoreTokens(options().cores > 0 ? options().cores : usable_cores());
  return *tokens;
}

void* DeviceContext::workspace(size_t bytes) {
  if (bytes == 0) return nullptr;
  if (!workspace_ || workspace_->bytes < bytes) {
    workspace_.reset();  // tasks that use it run before those of its next owner
    workspace_ = allocator_.allocate(bytes, MemoryCategory::workspace, *compute_);
  }
  return workspace_->data;
}

void DeviceContext::synchronize() {
  for (Stream* stream : {compute_.get(), copy_.get(), comm_.get()}) {
    host_wait(stream->record_event(), "device");
  }
  rethrow();
}

void DeviceContext::prepare_worker() { backend_->prepare_thread(threads_); }

void DeviceContext::poison(const char* op, const std::string& what) {
  std::lock_guard lock(poison_mutex_);
  if (poisoned_) return;
  poison_message_ = device_.str() + ": " + (op ? op : "task") + " failed: " + what;
  poisoned_.store(true, std::memory_order_release);
}

std::string DeviceContext::failure() const {
  std::lock_guard lock(poison_mutex_);
  return poisoned_ ? poison_message_ : "";
}

void DeviceContext::rethrow() {
  if (!poisoned()) return;
  std::lock_guard lock(poison_mutex_);
  poisoned_.store(false, std::memory_order_release);
  throw std::runtime_error(poison_message_);
}

namespace {

/// All devices of the process. At exit, all streams finish before any device is
/// destroyed, since a stream may still be copying from another device's memory.
struct Contexts {
  std::mutex mutex;
  std::map<Device, std::unique_ptr<DeviceContext>> by_device;

  ~Contexts() {
    for (auto& [device, context] : by_device) {
      for (Stream* stream : {&context->compute(), &context->copy(), &context->comm()}) {
        stream->record_event()->wait();
      }
    }
    // The driver's library may already be unloaded, so its devices are not destroyed.
    for (auto& [device, context] : by_device) {
      if (context->driver()) context.release();
    }
  }
};

}  // namespace

DeviceContext& context(Device device) {
  if (device.is_host()) throw std::runtime_error("the host has no streams");
  static Contexts contexts;
  std::lock_guard lock(contexts.mutex);
  const auto found = contexts.by_device.find(device);
  if (found != contexts.by_device.end()) return *found->second;
  auto made = std::make_unique<DeviceContext>(device);
  return *contexts.by_device.emplace(device, std::move(made)).first->second;
}

void host_wait(const EventPtr& event, const char* why) {
  tracer::HostEvent sync("sync", "synchronize");
  sync.arg({keys::why, why});
  std::vector<int64_t> ids;
  for (const TraceEnd& end : event->ends()) ids.push_back(end.id);
  sync.waits_for(ids);
  event->want();
  check_not_captured(*event);
  event->wait();
  if (has_pace()) pace().sleep_until(event->ended());
}

void check_not_captured(const Event& event) {
  if (!event.captured()) return;
  throw std::runtime_error(
      "a training step reads a result while it is captured as a CUDA graph; fix: omit "
      "--cuda-graph");
}

int64_t peak_bytes(Device device) { return context(device).allocator().peak_bytes(); }

}  // namespace lockstep::runtime
