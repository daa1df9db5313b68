// What `--device-type cuda` finds on this machine, in words.
#pragma once

#include <string>

#include "cli/run_options.h"

namespace lockstep::cli {

/// How many devices there are if nobody says: all GPUs, or 4 virtual ones.
int default_devices(DeviceType type);

/// On which GPU a device lies: `GPU 0, NVIDIA H100 (…)`. REQUIRES: a CUDA device.
std::string gpu_of(Device device);

/// `=> cuda:0 on GPU 0, …` for each device, and that several share one. Empty for
/// other kinds of devices.
std::string describe_gpus(const parallel::Devices& devices);

/// Before devices are recorded: by whom a trace will know when GPUs worked, in a line.
/// Empty for other kinds of devices.
std::string prepare_gpu_timeline(const parallel::Devices& devices);

}  // namespace lockstep::cli
