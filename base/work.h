// Long work that another thread watches and can stop.
#pragma once

#include <atomic>

namespace lockstep {

/// Thrown by stopped work. Not a std::exception: nothing failed, so nobody reports it.
struct Cancelled {};

/// Shared by the thread that works and one that watches it.
class Work {
 public:
  /// Makes the next `check` of the working thread throw.
  void cancel() { cancelled_.store(true, std::memory_order_relaxed); }
  /// Returns what is done now, "reading the trace"; "" before the first `now`.
  const char* doing() const { return doing_.load(std::memory_order_relaxed); }

  /// Says what is done from now on: a literal. Throws Cancelled after `cancel`.
  void now(const char* doing) {
    doing_.store(doing, std::memory_order_relaxed);
    check();
  }
  /// Throws Cancelled after `cancel`. As cheap as reading a variable.
  void check() const {
    if (cancelled_.load(std::memory_order_relaxed)) throw Cancelled();
  }

 private:
  std::atomic<bool> cancelled_ = false;
  std::atomic<const char*> doing_ = "";
};

}  // namespace lockstep
