// The machine's cores, handed out to kernels.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace lockstep::runtime {

/// N virtual devices share the cores of one machine. A compute kernel runs only while
/// it holds as many tokens as it uses threads, so a kernel's time stays that of a
/// device with cores of its own and waiting is visible as waiting. First come, first
/// served. Thread-safe.
class CoreTokens {
 public:
  explicit CoreTokens(int cores) : cores_(cores), free_(cores) {}

  /// Takes `count` tokens (at most all there are); returns how many were taken.
  int acquire(int count);
  void release(int count);
  int cores() const { return cores_; }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int cores_, free_;
  uint64_t next_ticket_ = 0, serving_ = 0;
};

}  // namespace lockstep::runtime
