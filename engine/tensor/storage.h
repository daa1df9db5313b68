// Tensor memory.
#pragma once

#include <memory>
#include <utility>

#include "engine/runtime/allocator.h"
#include "engine/tensor/types.h"

namespace lockstep {

using runtime::MemoryCategory;

/// One block of memory on one device, shared by a tensor and its views. Releasing the
/// last reference frees the block in host program order.
class Storage {
 public:
  Storage(Device device, size_t bytes, MemoryCategory category);
  /// Allocates on a stream other than the device's compute stream.
  Storage(Device device, size_t bytes, MemoryCategory category,
          runtime::Stream& stream);
  /// Host memory that exists already, such as memory shared with other processes.
  Storage(std::shared_ptr<char[]> host, size_t bytes)
      : device_(kHost), bytes_(bytes), host_(std::move(host)) {}

  void* data() const { return block_ ? block_->data : host_.get(); }
  size_t bytes() const { return bytes_; }
  Device device() const { return device_; }

  /// Declares use by another stream, which delays reuse (like torch's `record_stream`).
  void record_stream(runtime::Stream& stream);
  void set_category(MemoryCategory category);

 private:
  Device device_;
  size_t bytes_;
  std::shared_ptr<runtime::Block> block_;  ///< device memory
  std::shared_ptr<char[]> host_;           ///< host memory
};

using StoragePtr = std::shared_ptr<Storage>;

/// Sets the category of the calling thread's allocations for the lifetime of this
/// object: activations in a forward pass, gradients in a backward pass.
class CategoryScope {
 public:
  explicit CategoryScope(MemoryCategory category);
  ~CategoryScope();
  static MemoryCategory current();

 private:
  MemoryCategory outer_;
};

}  // namespace lockstep
