// When a worker reads the shared weights, updates them, and holds their lock, as slots.
#pragma once

#include "engine/runtime/slot.h"
#include "engine/sharing/shared_model.h"

namespace lockstep::sharing {

/// While what a worker holds the model's lock.
enum class LockFor {
  nothing,  ///< Hogwild
  update,   ///< while it reads the weights, and while it updates them
  step,     ///< from reading the weights to updating them
};

/// What one worker may do with the shared model. Must be used by the worker's thread
/// only.
class SharedAccess {
 public:
  virtual ~SharedAccess() = default;

  /// Waits until no other worker has the lock, and gets it.
  virtual void acquire() = 0;
  virtual void release() = 0;
  /// Copies the shared weights, one element after the other, while others may be
  /// updating them. Returns their version before the first element.
  virtual int64_t read() = 0;
  /// Makes the worker's step, from the weights that `read` returned with this version
  /// to those that its optimizer has made of them.
  virtual Update apply(int64_t read_version) = 0;
};

/// Reads the weights at the beginning of a worker's step; returns their version.
int64_t begin_step(SharedAccess& model, LockFor lock);
/// Updates the weights at the end of a step that began with `read_version`.
Update end_step(SharedAccess& model, LockFor lock, int64_t read_version);

/// The functions that workers call, in slots (runtime/slot.h).
runtime::Slot<decltype(begin_step)>& shared_begin();
runtime::Slot<decltype(end_step)>& shared_end();

}  // namespace lockstep::sharing
