// A virtual device: memory, streams and kernels of its own.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "engine/runtime/allocator.h"
#include "engine/runtime/core_tokens.h"
#include "engine/runtime/stream.h"
#include "engine/tensor/device.h"

namespace lockstep {
struct Backend;
}

namespace lockstep::runtime {

/// How devices are made; set before the first one is used.
struct Options {
  int threads_per_device = 1;    ///< threads, and core tokens, of one kernel
  int cores = 0;                 ///< tokens of the process; 0: one per core
  bool launch_blocking = false;  ///< wait for each kernel (CUDA_LAUNCH_BLOCKING)
};
Options& options();

/// One device. Everything that runs on it goes through its three streams.
class DeviceContext {
 public:
  explicit DeviceContext(Device device);
  ~DeviceContext();

  Device device() const { return device_; }
  Backend& backend() const { return *backend_; }
  Driver* driver() const;  ///< null where the host's threads do the work
  Allocator& allocator() { return allocator_; }
  CoreTokens& tokens();
  int threads() const { return threads_; }

  Stream& compute() { return *compute_; }
  Stream& copy() { return *copy_; }
  Stream& comm() { return *comm_; }

  /// Scratch memory for the compute stream's next task: one buffer that grows.
  void* workspace(size_t bytes);
  /// The buffer itself, for who needs it longer; null if there is none yet.
  const std::shared_ptr<Block>& workspace_block() const { return workspace_; }

  /// Blocks the host until all streams are idle; rethrows a task's failure.
  void synchronize();

  /// Called by a worker thread before its first task.
  void prepare_worker();

  /// A task failed: skip what follows, tell the next one who waits.
  void poison(const char* op, const std::string& what);
  bool poisoned() const { return poisoned_.load(std::memory_order_acquire); }
  void rethrow();  ///< throws, and heals the device, if it is poisoned

 private:
  Device device_;
  Backend* backend_;
  int threads_;
  Allocator allocator_;
  std::atomic<bool> poisoned_{false};
  std::mutex poison_mutex_;
  std::string poison_message_;
  std::unique_ptr<Stream> compute_, copy_, comm_;
  std::shared_ptr<Block> workspace_;
};

/// The context of a device; made on first use. Thread-safe.
/// Throws if the program was built without that device's kernels.
DeviceContext& context(Device device);

/// Waits for `event` on the calling host thread and records the wait; `why` is one of
/// item, device, stream, join, queue.
void host_wait(const EventPtr& event, const char* why);

/// Peak bytes of devices 0 … count−1 of a type.
int64_t peak_bytes(Device device);

}  // namespace lockstep::runtime
