// `emulate --calibrate`: a hardware profile of this machine, from short runs.
#pragma once

#include <string>

#include "run/config.h"

namespace lockstep::run {

struct CalibrateOptions {
  std::string out;  ///< the profile: its name is that of the file
  std::string arch = "resnet18";
  DeviceType device = DeviceType::cpu;
  int64_t batch = 8;  ///< of a device
  int devices = 8;    ///< that the profile has
  int rounds = 3;     ///< of runs on one and on two devices, in turns
};

/// Trains a few steps on generated images, with one device and with
/// DistributedDataParallel on two, in turns, and with DataParallel on two and three;
/// writes the profile and returns what to print: its numbers. Throws
/// UsageError if the devices do not compute, std::runtime_error if the file cannot be
/// written or the runs show no bandwidth.
std::string calibrate_machine(const CalibrateOptions& options);

}  // namespace lockstep::run
