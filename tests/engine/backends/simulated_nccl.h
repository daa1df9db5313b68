// The counterpart of NCCL for simulated GPUs. A collective is work in a queue, which
// runs when the queues of all participants have reached it.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/distributed/collectives/make_communicator.h"
#include "engine/parallel/device_group.h"

namespace lockstep::test {

/// Where the queues of `size` participants meet.
class Meeting {
 public:
  /// A participant's memory: what it gives and what it receives; the same in place.
  struct Part {
    char* in = nullptr;
    char* out = nullptr;
  };
  using Act = std::function<void(const std::vector<Part>&)>;

  explicit Meeting(size_t size) : parts_(size), aborted_(size) {}
  /// Enqueues participant i's part on the calling worker's queue. The last one to
  /// arrive performs `act`, which must be the same for all.
  void join(size_t i, Part part, Act act);
  /// Ends the waits of participant i, and no other's, like ncclCommAbort.
  void abort(size_t i);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Part> parts_;
  std::vector<bool> aborted_;
  size_t there_ = 0, calls_ = 0;
};

/// For DataParallel. Returns null unless each of the devices has its own GPU.
std::unique_ptr<parallel::DeviceGroup> simulated_device_group(
    const std::vector<Device>& devices);
/// For ranks that are threads of this process. Returns null unless each has its own
/// GPU. Must be called by all ranks of the store. Messages between two ranks are not
/// simulated.
std::unique_ptr<distributed::Communicator> simulated_communicator(
    const distributed::CommunicatorOptions& options);

}  // namespace lockstep::test
