// The profiles of hardware that travel inside the program.
#pragma once

#include <string>
#include <vector>

#include "tracer/emulate/hardware/hardware.h"

namespace lockstep::cli {

/// Returns the profile with that name, or that of a file whose name ends in `.json`.
/// Throws std::runtime_error that lists the names if there is no such profile.
tracer::Hardware open_hardware(const std::string& name_or_file);

/// Returns all profiles.
std::vector<tracer::Hardware> all_hardware();

/// Returns a line for each profile: its name and what it describes.
std::string list_hardware();

}  // namespace lockstep::cli
