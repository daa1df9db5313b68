// The devices of a run, and descriptions of the hardware they use.
#pragma once

#include <string>

#include "run/config.h"
#include "run/rank_place.h"

namespace lockstep::run {

/// Returns --devices, or its default: the number of GPUs, or 4 virtual devices.
int device_count(const RunConfig& config);

/// Returns the devices named by the options: by default all GPUs, or 4 virtual devices.
parallel::Devices devices_of(const RunConfig& config);

/// Returns the GPU of a device: `GPU 0, NVIDIA H100 (…)`. Another process's rank counts
/// as using the GPU of its number on its machine. REQUIRES: a CUDA device.
std::string gpu_of(Device device, const RankPlace& place);

/// Returns `=> cuda:0 on GPU 0, …` for each device of this machine, which GPUs
/// CUDA_VISIBLE_DEVICES leaves, and whether several devices share a GPU. Empty for
/// other types of devices.
std::string describe_gpus(const parallel::Devices& devices, const RankPlace& place);

/// Prepares the GPUs' timelines, and returns a line naming the library that will
/// record them. Must be called before devices are recorded. Empty for other types of
/// devices.
std::string prepare_gpu_timeline(const parallel::Devices& devices);

}  // namespace lockstep::run
