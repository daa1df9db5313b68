// The machine's cores, shared by the kernels of all virtual devices.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace lockstep::runtime {

/// A first-come, first-served semaphore with one token per core. A compute kernel holds
/// one token per thread, so its duration is that of a device with dedicated cores, and
/// a trace shows the time spent waiting for cores as waiting. Thread-safe.
class CoreTokens {
 public:
  explicit CoreTokens(int cores) : cores_(cores), free_(cores) {}

  /// Blocks until `count` tokens (at most cores()) are free, then takes them. Returns
  /// the number taken, which must be passed to release().
  int acquire(int count);
  void release(int count);

  int cores() const { return cores_; }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int cores_, free_;
  uint64_t next_ticket_ = 0;  ///< of the next caller of acquire()
  uint64_t serving_ = 0;      ///< the ticket to be served next
};

}  // namespace lockstep::runtime
