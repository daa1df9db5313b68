// Which flags belong to which ways of sharing the work.
#pragma once

#include "run/config.h"

namespace lockstep::run {

/// Throws UsageError if a flag was given that the run's mode would not read, or whose
/// value its mode cannot obey. Part of validate().
void validate_flags_of_modes(const RunConfig& config);

}  // namespace lockstep::run
