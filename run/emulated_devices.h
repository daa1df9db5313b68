// `--device-type emulated`: devices that take as long as those of a hardware profile.
#pragma once

#include <string>

#include "run/config.h"
#include "run/data_sets.h"

namespace lockstep::run {

/// Throws UsageError if the options do not fit emulated devices, or if --hardware is
/// given without them.
void validate_emulated_devices(const RunConfig& config);

/// Sets how fast the devices are, if they are emulated: counts a step of one device for
/// each batch that the run will have on a device. Throws UsageError if the profile does
/// not have the network's times for these batches.
void prepare_emulated_devices(const RunConfig& config, const DataSets& data);

/// Returns what the times of the run's emulated devices assume, as one line.
std::string emulated_devices_assume(const RunConfig& config);

}  // namespace lockstep::run
