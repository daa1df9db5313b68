#include "engine/sharing/shared_access.h"

namespace lockstep::sharing {

int64_t begin_step(SharedAccess& model, LockFor lock) {
  if (lock != LockFor::nothing) model.acquire();
  const int64_t version = model.read();
  if (lock == LockFor::update) model.release();
  return version;
}

Update end_step(SharedAccess& model, LockFor lock, int64_t read_version) {
  if (lock == LockFor::update) model.acquire();
  const Update update = model.apply(read_version);
  if (lock != LockFor::nothing) model.release();
  return update;
}

runtime::Slot<decltype(begin_step)>& shared_begin() {
  static runtime::Slot<decltype(begin_step)> in_use("shared_begin", begin_step);
  return in_use;
}

runtime::Slot<decltype(end_step)>& shared_end() {
  static runtime::Slot<decltype(end_step)> in_use("shared_end", end_step);
  return in_use;
}

}  // namespace lockstep::sharing
