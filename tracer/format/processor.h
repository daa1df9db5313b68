// What runs the kernels of a trace's devices: so, what a kernel waits for that could
// start. All devices of a trace have the same type.
#pragma once

#include <cstdint>
#include <string_view>

#include "tracer/format/args.h"

namespace lockstep::tracer {

enum class Processor : uint8_t {
  cores,       ///< of the machine: virtual devices
  gpus,        ///< each device has a GPU of its own
  shared_gpus  ///< two devices run on the same GPU
};

/// Returns whether a device is a GPU, by its name in `lockstep.devices`: `cuda:0 on GPU
/// 0, …`; of an import, `GPU 0`. `emulated:0 as …` stands for one.
bool is_gpu(std::string_view device_name);

/// `lockstep`: the trace's object of that name. Devices whose GPU is not named count as
/// having one of their own.
Processor processor_of(const Json& lockstep);

inline constexpr char kWaitingForCore[] = "waiting for a core";
inline constexpr char kWaitingForGpu[] = "waiting for the GPU";

/// Returns the name of the class: `waiting for a core` or `waiting for the GPU`.
const char* waiting_name(Processor processor);

/// Returns what belongs to the class.
const char* waiting_rule(Processor processor);

}  // namespace lockstep::tracer
