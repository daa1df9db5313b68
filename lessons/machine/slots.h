// The engine's slots by name, for the judge.
#pragma once

#include <string>

namespace lockstep::lessons {

/// Returns whether a learner's function is plugged into the slot of this name. Throws
/// std::logic_error if the engine has no such slot.
bool is_plugged(const std::string& slot);

/// Puts the engine's own functions of all slots out of reach: their `reference()`
/// throws std::logic_error when it is called. Must be called before a learner's library
/// is loaded, since the library could otherwise copy them. Tests that compute expected
/// values with a reference use a copy made earlier.
void forbid_references();

/// Undoes forbid_references() for the slots in which the engine's own function runs:
/// those into which nothing is plugged.
void allow_references_of_empty_slots();

}  // namespace lockstep::lessons
