// How long one training step takes on several devices, from the same step on one.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "tracer/emulate/scoreboard/machine_text.h"
#include "tracer/emulate/scoreboard/nets.h"
#include "tracer/emulate/scoreboard/published_row.h"

namespace lockstep::tracer {

/// What is not known exactly: each is a factor on a cost that has a source.
enum class Cost { host, link, network, spread, interference, hook, server };
inline constexpr size_t kCosts = 7;

/// Natural logarithms of the factors; 0: as the source says.
using CostFactors = std::array<double, kCosts>;

/// What is known of a cost before any multi-device row is read.
struct CostPrior {
  const char* name;
  const char* centre;  ///< the cost for which the factor is 1, and its source
  double machine = 0;  ///< standard deviation of the factor's logarithm
  /// The same, between networks and numbers of devices on one machine.
  double transfer = 0;
};

/// By Cost. The widths are assumptions, made before any prediction was scored.
const std::array<CostPrior, kCosts>& cost_priors();

/// How gradients are summed.
enum class Sum {
  buckets,     ///< DDP: overlapped with the backward pass, in buckets
  fusion,      ///< Horovod: the same, in buffers of up to 64 MiB
  per_tensor,  ///< tf_cnn_benchmarks: each tensor, after the backward pass
};

/// One training step of one device, and how it is shared.
struct StepSetting {
  const Net* net = nullptr;
  Sharing sharing = Sharing::single;
  Sum sum = Sum::buckets;
  int devices = 1;
  double batch = 0;               ///< of each device, in images
  double alone = 0;               ///< seconds of the step on one device, at that batch
  double forward_share = 1. / 3;  ///< of `alone`
  bool hooked = false;            ///< `alone` was measured with DDP's hooks
  bool servers_on_devices = false;  ///< parameter servers are where the workers are
  int64_t gradient_bytes = 4;       ///< per parameter
  int64_t bucket_cap = 25 << 20;
  MachineLinks links;
};

/// A step's time in seconds, by what it is spent on.
struct StepParts {
  double compute = 0;       ///< the step on one device
  double host = 0;          ///< the host prepares replicas and launches their kernels
  double hooks = 0;         ///< DDP's, per gradient
  double waiting = 0;       ///< for the slowest of the devices
  double interference = 0;  ///< compute is slower while a collective is in flight
  double links = 0;         ///< messages that nothing hides

  double total() const {
    return compute + host + hooks + waiting + interference + links;
  }
};

/// Returns the parts of a step. DataParallel hides no message; DDP starts each bucket
/// at max(its gradients are ready, the bucket before is summed).
StepParts step_time(const StepSetting& setting, const CostFactors& factors);

/// Returns 2 (N − 1) / N · the model's bytes: what a ring sends through each device.
double ring_bytes(const StepSetting& setting);

/// Returns the expected maximum of that many standard normal variables.
double expected_maximum(int count);

/// Returns the sizes of DDP's buckets in bytes, in the order of their all-reduces.
std::vector<int64_t> bucket_bytes(const Net& net, int64_t cap, int64_t gradient_bytes);

}  // namespace lockstep::tracer
