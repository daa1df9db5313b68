// Copies between memories.
#pragma once

#include <source_location>
#include <string_view>

#include "engine/runtime/stream.h"
#include "engine/tensor/tensor.h"

namespace lockstep::ops {

/// Why bytes move and what they are, for the trace.
struct CopyLabel {
  const char* why;  ///< h2d, scatter, replicate, gather, grad_scatter, reduce, d2h, …
  const char* tensor = "";
};

/// Copies `x` (made plain first) to another device; returns at once. Between devices
/// and from the host the copy runs on the receiver's copy stream, after the work that
/// made `x`; the receiver's compute stream waits for it. To the host this call waits.
/// On the same device returns `x` itself. Not differentiable.
Tensor copy_to(const Tensor& x, Device to, CopyLabel label,
               std::source_location site = std::source_location::current());

/// As copy_to, into existing plain memory of the receiver: `destination` may be part of
/// a larger tensor. The copy waits for the receiver's earlier work on it.
void copy_into(const Tensor& x, const Tensor& destination, CopyLabel label,
               std::source_location site = std::source_location::current());

/// Returns memory of a device that its copy stream fills and its compute stream reads.
Tensor empty_for_copy(const TensorSpec& plain, Device device);

/// Fills in what the trace shows of a task that copies a plain tensor of that kind.
void describe_copy(runtime::Task& task, const TensorSpec& tensor, Device from,
                   Device to, const CopyLabel& label);

/// Waits for a scalar and returns it. Rethrows the device's failure if there was one.
double item(const Tensor& x,
            std::source_location site = std::source_location::current());

}  // namespace lockstep::ops
