// A virtual device: its memory, its streams and its backend.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "engine/runtime/allocator.h"
#include "engine/runtime/core_tokens.h"
#include "engine/runtime/stream.h"
#include "engine/tensor/types.h"

namespace lockstep {
struct Backend;
}

namespace lockstep::runtime {

/// How devices are created. Must be set before the first one is used; not thread-safe.
struct Options {
  int threads_per_device = 1;    ///< threads and core tokens per kernel
  int cores = 0;                 ///< core tokens of the process; 0: one per core
  bool launch_blocking = false;  ///< wait for each kernel (CUDA_LAUNCH_BLOCKING)
  bool device_groups = true;     ///< DataParallel may use NCCL (device_group.h)
};
Options& options();

/// A device. All of its work goes through its three streams, which may be used from any
/// thread; the workspace may be used only by the thread that enqueues kernels.
class DeviceContext {
 public:
  explicit DeviceContext(Device device);
  ~DeviceContext();

  Device device() const { return device_; }
  Backend& backend() const { return *backend_; }
  Driver* driver() const;  ///< null if worker threads run the kernels
  Allocator& allocator() { return allocator_; }
  CoreTokens& tokens();  ///< shared by all devices of the process
  int threads() const { return threads_; }

  Stream& compute() { return *compute_; }
  Stream& copy() { return *copy_; }
  Stream& comm() { return *comm_; }

  /// Returns at least `bytes` bytes of scratch memory for the compute stream's next
  /// task, or null for 0 bytes. All tasks share one buffer, which grows on demand.
  void* workspace(size_t bytes);

  /// Returns the workspace's block, so that it can be kept alive; null if none exists.
  const std::shared_ptr<Block>& workspace_block() const { return workspace_; }

  /// Blocks the host until all previously enqueued work has completed. Throws
  /// std::runtime_error if a task has failed.
  void synchronize();

  /// Must be called by each worker thread before its first task.
  void prepare_worker();

  /// Marks the device as failed: streams skip later tasks, and the next rethrow()
  /// throws. Only the first failure is kept. `op` may be null.
  void poison(const char* op, const std::string& what);
  bool poisoned() const { return poisoned_.load(std::memory_order_acquire); }
  /// Returns what rethrow() would throw; "" if the device has not failed.
  std::string failure() const;

  /// If the device is poisoned, clears that state and throws std::runtime_error naming
  /// the device and the op.
  void rethrow();

 private:
  Device device_;
  Backend* backend_;
  int threads_;
  Allocator allocator_;
  std::atomic<bool> poisoned_{false};
  mutable std::mutex poison_mutex_;  ///< guards poison_message_ and writes to poisoned_
  std::string poison_message_;
  std::unique_ptr<Stream> compute_, copy_, comm_;
  std::shared_ptr<Block> workspace_;  ///< null until first used
};

/// Returns the context of a device, which is created on first use. Thread-safe. Throws
/// std::runtime_error for the host or if the program has no backend for the device.
DeviceContext& context(Device device);

/// Waits for `event` on the calling host thread and records a `sync` event. `why` is
/// one of item, device, stream. Throws std::runtime_error if the event's task is being
/// captured (graph_capture.h), since it has no result yet.
void host_wait(const EventPtr& event, const char* why);

/// Throws as host_wait does if the event's task is being captured.
void check_not_captured(const Event& event);

/// Returns the peak of the device's live bytes (see Allocator::peak_bytes).
int64_t peak_bytes(Device device);

}  // namespace lockstep::runtime
