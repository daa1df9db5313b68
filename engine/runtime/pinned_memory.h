// Page-locked main memory for batches: PyTorch's `pin_memory=True`.
//
// Hardware can read page-locked memory by itself. From any other memory, the host first
// copies to a page-locked buffer. But such memory is still being read when the call
// that enqueues the copy has returned, so that a freed block may be reused only after
// the copies that read it. Source: ATen/core/CachingHostAllocator.h.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <map>
#include <memory_resource>
#include <mutex>
#include <utility>
#include <vector>

#include "engine/runtime/event.h"

namespace lockstep::runtime {

/// Keeps freed blocks for reuse: locking pages takes milliseconds. There are as many as
/// a loader and its training loop have batches at a time: with n workers, 2n and a few
/// more. Never returns memory to the system. Thread-safe.
class PinnedMemory : public std::pmr::memory_resource {
 public:
  /// `lock` returns `bytes` bytes of page-locked memory, or null if there are no more:
  /// it is then not called again, and further blocks are ordinary memory.
  explicit PinnedMemory(std::function<void*(size_t bytes)> lock)
      : lock_(std::move(lock)) {}

  /// Returns true if `data` is in a page-locked block.
  bool contains(const void* data);

  /// Declares that a copy reads the block that contains `data`. Does nothing if no
  /// block does. Must be called before the block is freed.
  void read_by(const void* data, EventPtr copy);

 private:
  struct Block {
    size_t bytes = 0;
    bool used = false;
    std::vector<EventPtr> readers;
  };
  using Blocks = std::map<const char*, Block, std::greater<>>;  // by address

  void* do_allocate(size_t bytes, size_t alignment) override;
  void do_deallocate(void* data, size_t bytes, size_t alignment) override;
  bool do_is_equal(const memory_resource& other) const noexcept override {
    return this == &other;
  }
  void* reuse(size_t bytes);
  void* add(size_t bytes);
  Blocks::iterator block_of(const void* data);

  const std::function<void*(size_t bytes)> lock_;
  std::atomic<bool> exhausted_{false};  ///< whether `lock_` returned null
  std::mutex mutex_;                    ///< guards blocks_; not held in `lock_`
  Blocks blocks_;
};

}  // namespace lockstep::runtime
