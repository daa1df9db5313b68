// The machine's cores, shared by the kernels of all virtual devices.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace lockstep::runtime {

/// A semaphore with a token per core, first come, first served. A compute kernel holds
/// as many tokens as it uses threads. So its time is that of a device with cores of its
/// own, and a trace shows the wait for cores as waiting. Thread-safe.
class CoreTokens {
 public:
  explicit CoreTokens(int cores) : cores_(cores), free_(cores) {}

  /// Blocks until `count` tokens (but at most cores()) are free and takes them. Returns
  /// how many it took; they must be given to release().
  int acquire(int count);
  void release(int count);

  int cores() const { return cores_; }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int cores_, free_;
  uint64_t next_ticket_ = 0;  ///< of the next caller of acquire()
  uint64_t serving_ = 0;      ///< the ticket whose turn it is
};

}  // namespace lockstep::runtime
