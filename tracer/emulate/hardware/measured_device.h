// How long the phases of a training step take on a device, as somebody measured them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep::tracer {

/// The phases of one network, by batch (samples on the device).
struct PhaseTable {
  std::string arch;
  int64_t image_size = 0;           ///< pixels of a side
  std::vector<int64_t> batches;     ///< ascending
  std::vector<double> forward_ms;   ///< one for each batch
  std::vector<double> backward_ms;  ///< … of backward pass and optimizer together
};

/// A kind of device.
struct MeasuredDevice {
  std::string name, source;
  double tflops = 0;  ///< its highest rate
  double memory_gb_per_s = 0;
  std::vector<PhaseTable> tables;
};

struct PhaseTimes {
  double forward_ms = 0, backward_ms = 0;
};

/// Returns the table of a network. Throws std::runtime_error that names the networks
/// and image sizes there are.
const PhaseTable& table_of(const MeasuredDevice& device, const std::string& arch,
                           int64_t image_size);

/// Returns the times for a batch: those of the table, or on the line between the two
/// nearest batches. Throws std::runtime_error that names the batches there are if it is
/// smaller or larger than all of them.
PhaseTimes times_of(const MeasuredDevice& device, const PhaseTable& table,
                    int64_t batch);

}  // namespace lockstep::tracer
