// Copies between host and device memories.
#pragma once

#include <source_location>
#include <string_view>

#include "engine/runtime/stream.h"
#include "engine/tensor/tensor.h"

namespace lockstep::ops {

/// The reason for a copy and what it contains, for the trace.
struct CopyLabel {
  const char* why;  ///< h2d, scatter, replicate, gather, grad_scatter, reduce, d2h, …
  const char* tensor = "";
  int stage = -1, micro_batch = -1;  ///< of the receiver, in a pipeline
};

/// Copies `x` (made plain first) to another device and returns immediately. A copy from
/// a device or the host to a device runs on the receiver's copy stream, after the work
/// that produces `x`; the receiver's compute stream waits for it. A copy to the host
/// blocks. Returns `x` itself if it is already on `to`. Not differentiable.
Tensor copy_to(const Tensor& x, Device to, CopyLabel label,
               std::source_location site = std::source_location::current());

/// A copy that may still be on its way.
struct Arriving {
  Tensor tensor;
  runtime::EventPtr done;  ///< null if nothing was copied
};

/// Like copy_to to a device, but the receiver's compute stream does not wait: work that
/// is enqueued there before `arrived` does not need the tensor.
Arriving send_to(const Tensor& x, Device to, CopyLabel label,
                 std::source_location site = std::source_location::current());
/// Makes the compute stream of the tensor's device wait for the copy. Returns the
/// tensor.
Tensor arrived(const Arriving& copy);

/// Like copy_to, but into existing plain memory of the receiver; `destination` may be
/// part of a larger tensor. The copy waits for the receiver's earlier work on it.
void copy_into(const Tensor& x, const Tensor& destination, CopyLabel label,
               std::source_location site = std::source_location::current());

/// Allocates device memory that the copy stream writes and the compute stream reads.
Tensor empty_for_copy(const TensorSpec& plain, Device device);

/// Fills in the trace record of a task that copies a plain tensor with this spec.
void describe_copy(runtime::Task& task, const TensorSpec& tensor, Device from,
                   Device to, const CopyLabel& label);

/// Waits for a scalar and returns its value. Rethrows a failure of the device, if any.
double item(const Tensor& x,
            std::source_location site = std::source_location::current());

/// Returns the values of scalars of one device and type. Where a hardware queue does
/// the work, they are concatenated there and read with a single copy: each read costs
/// the host a wait, during which the GPU runs dry. Otherwise the same as calling `item`
/// for each.
std::vector<double> items(const Tensors& scalars,
                          std::source_location site = std::source_location::current());

}  // namespace lockstep::ops
