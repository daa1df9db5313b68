// Records which mutexes a learner's library locks, and when it notifies, so that tests
// can reject races that almost never show up.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace lockstep::lessons {

/// One call by the learner's library.
struct LockCall {
  enum class Kind { lock, unlock, notify } kind;
  const void* mutex = nullptr;  ///< nullptr for a notification
};

/// Records the library's calls to std::mutex and std::condition_variable, from now on
/// and on all threads. The library must be loaded. Does nothing without such calls.
void note_locks(const std::string& library);

/// Returns the calls recorded on this thread since the last call to this function.
std::vector<LockCall> take_noted_locks();

/// Return whether a call locked a mutex; whether it notified, but only before its first
/// lock; and whether two calls locked the same mutex.
bool locks(const std::vector<LockCall>& call);
bool notifies_only_before_lock(const std::vector<LockCall>& call);
bool share_a_mutex(const std::vector<LockCall>& one,
                   const std::vector<LockCall>& other);

/// Runs `action` on this thread after each unlock that is recorded on it. An empty
/// function ends this.
void after_each_unlock(std::function<void()> action);

}  // namespace lockstep::lessons
