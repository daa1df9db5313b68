// The devices of a run, and descriptions of the hardware they use.
#pragma once

#include <string>

#include "run/config.h"

namespace lockstep::run {

/// Returns --devices, or its default: the number of GPUs, or 4 virtual devices.
int device_count(const RunConfig& config);

/// Returns the devices named by the options: by default all GPUs, or 4 virtual devices.
parallel::Devices devices_of(const RunConfig& config);

/// Returns the GPU of a device: `GPU 0, NVIDIA H100 (…)`. REQUIRES: a CUDA device.
std::string gpu_of(Device device);

/// Returns `=> cuda:0 on GPU 0, …` for each device, and whether several share a GPU.
/// Empty for other types of devices.
std::string describe_gpus(const parallel::Devices& devices);

/// Prepares the GPUs' timelines, and returns a line naming the library that will
/// record them. Must be called before devices are recorded. Empty for other types of
/// devices.
std::string prepare_gpu_timeline(const parallel::Devices& devices);

}  // namespace lockstep::run
