// Calls that may wait forever: each runs on its own thread, which is never joined.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lessons/machine/exam.h"
#include "lessons/machine/locks.h"

namespace lockstep::lessons {

/// One call of a learner's function, on a separate thread.
class Call {
 public:
  /// `body` calls it and returns its result as text.
  explicit Call(std::function<std::string()> body);

  bool returned() const;

  /// Returns the result, or the exception's message. Must be called after it has
  /// returned. Throws NotWritten if the function did.
  std::string result() const;

  /// Returns the mutexes that it locked, and its notifications, if note_locks() was
  /// called. Must be called after it has returned.
  const std::vector<LockCall>& locks() const;

  /// Returns "" while it is awake; otherwise text that changes when it runs.
  std::string rest() const;

  /// Returns true after more than 50 ms of CPU time, or after it has left its core 200
  /// times without sleeping, as a thread that yields in a loop does.
  bool spins() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// Lets the calls run until each has returned or sleeps. If all slept, and none was
/// scheduled between two checks, then no thread was left that could wake another: they
/// sleep until the next call. Throws Wrong, which sends the reader to the paragraph
/// `read`, if a call keeps a core busy instead.
void settle(const std::vector<Call>& calls, const std::string& read);

}  // namespace lockstep::lessons
