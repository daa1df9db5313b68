// The engine's slots by name, for the judge.
#pragma once

#include <string>

namespace lockstep::lessons {

/// Returns whether a learner's function is plugged into the slot of this name. Throws
/// std::logic_error if the engine has no such slot.
bool is_plugged(const std::string& slot);

/// Puts the engine's own functions of all plugged slots out of reach, for the rest of
/// the process: their `reference()` throws std::logic_error when it is called. The
/// engine calls it in no thread, since it calls the learner's function. Tests that
/// compute expected values with a reference keep a copy from before.
void forbid_references();

}  // namespace lockstep::lessons
