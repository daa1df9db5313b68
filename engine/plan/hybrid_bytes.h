// How many bytes pass each device's port in a training step: of a hybrid, which
// all-reduces the features among N−1 devices and has the classifier on one, and of
// DistributedDataParallel, which all-reduces everything among N.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lockstep::plan {

struct PortBytes {
  int64_t in = 0, out = 0;
  bool operator==(const PortBytes&) const = default;
};

/// Returns what each of `world` ranks receives and sends in a ring all-reduce of
/// `numel` elements of `item` bytes: 2 (world − 1) / world of them, to within one
/// element. REQUIRES: world ≥ 1.
std::vector<PortBytes> ring_port_bytes(int64_t numel, int64_t item, int world);

/// Returns the bytes of the devices of a hybrid; the last has the classifier. The
/// features have `numel` parameters of `item` bytes. `activations` holds the bytes of
/// each chunk's features, of which there may be fewer than `feature_devices`: they go
/// to the classifier, and as many return as gradients.
std::vector<PortBytes> hybrid_port_bytes(int64_t numel, int64_t item,
                                         int feature_devices,
                                         const std::vector<int64_t>& activations);

/// Returns the sum of what the devices send.
int64_t bytes_sent(const std::vector<PortBytes>& ports);

}  // namespace lockstep::plan
