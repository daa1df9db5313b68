// Finds out whether calls run at the same time.
#pragma once

#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>

namespace lockstep::lessons {

/// Where calls wait for each other, for at most four seconds. Thread-safe; `missed` and
/// `threads` must be called after all calls have returned.
class Meeting {
 public:
  explicit Meeting(int expected) : expected_(expected) {}

  /// Waits until all expected calls have arrived, or one of them has given up.
  void arrive();

  /// Returns how many had not arrived when the first of them gave up; 0 if none did.
  int missed() const { return missed_; }
  /// Returns the threads of the calls.
  const std::set<std::thread::id>& threads() const { return threads_; }

 private:
  const int expected_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int arrived_ = 0, missed_ = 0;
  std::set<std::thread::id> threads_;
};

}  // namespace lockstep::lessons
