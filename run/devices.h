// The devices of a run, and what is found on this machine for them, in words.
#pragma once

#include <string>

#include "run/config.h"

namespace lockstep::run {

/// The devices that the options name: by default all GPUs, or 4 virtual ones.
parallel::Devices devices_of(const RunConfig& config);

/// On which GPU a device lies: `GPU 0, NVIDIA H100 (…)`. REQUIRES: a CUDA device.
std::string gpu_of(Device device);

/// `=> cuda:0 on GPU 0, …` for each device, and whether several share one. Empty for
/// other kinds of devices.
std::string describe_gpus(const parallel::Devices& devices);

/// Prepares the GPUs' timelines, and returns in a line by which library a trace will
/// have them. Must be called before devices are recorded. Empty for other kinds of
/// devices.
std::string prepare_gpu_timeline(const parallel::Devices& devices);

}  // namespace lockstep::run
