// The lock on a model that workers share (mode `locked`): who held it when, and who
// waited for it.
#pragma once

#include <cstdint>
#include <vector>

#include "gui/model/model.h"

namespace lockstep::gui {

/// One time that a worker asked for the lock, got it and gave it back.
struct LockUse {
  int rank = 0;
  int64_t asked = 0;  ///< ns, like the times of events; `got` if the lock was free
  int64_t got = 0, released = 0;
  uint32_t event = kNoEvent;  ///< what it did first with the lock
  uint32_t wait = kNoEvent;   ///< the wait; kNoEvent if the lock was free

  bool holds_at(int64_t ts) const { return got <= ts && ts < released; }
  bool waits_at(int64_t ts) const { return asked <= ts && ts < got; }
};

/// The name of a wait for the lock: see engine/sharing/model_lock.cpp.
inline constexpr char kWaitForLock[] = "wait for lock";

/// Returns the uses in the order in which they got the lock; none in other modes. With
/// `--lock step` a use lasts from the read of the weights to the end of the update, and
/// with `--lock update` each of the two is a use of its own.
std::vector<LockUse> lock_uses(const Model& model);

/// Returns who holds the lock at `ts`, if anybody does, and then who waits for it, in
/// the order in which they asked.
std::vector<LockUse> lock_queue(const std::vector<LockUse>& uses, int64_t ts);

}  // namespace lockstep::gui
