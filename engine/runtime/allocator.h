// Stream-ordered device memory, modelled on PyTorch's caching allocator for CUDA.
// Source: c10/cuda/CUDACachingAllocator.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/runtime/event.h"

namespace lockstep::runtime {

class Stream;

/// The purpose of a block of memory, as shown by the trace's memory counters.
enum class MemoryCategory {
  parameters,
  gradients,
  buffers,
  activations,
  inputs,
  optimizer,
  buckets,
  workspace,
  other,
  count_
};
inline constexpr int kMemoryCategories = static_cast<int>(MemoryCategory::count_);
const char* name(MemoryCategory category);

/// Which allocations may reuse a block: all of them, or only those made during a
/// capture (graph_capture.h). Memory that a graph writes must not be reused by other
/// tasks as long as the graph can be replayed.
enum class MemoryPool { common, graph };

/// A block of device memory in use.
struct Block {
  void* data = nullptr;
  size_t bytes = 0;     ///< as requested
  size_t capacity = 0;  ///< as obtained from the system
  MemoryCategory category = MemoryCategory::other;
  Stream* stream = nullptr;            ///< the stream whose tasks use it
  std::vector<Stream*> other_streams;  ///< see `record_stream`
  MemoryPool pool = MemoryPool::common;
};

/// Allocates and frees in *host program order*: a freed block may be reused immediately
/// by later work on the same stream, since that work runs after everything enqueued
/// before it. Use by other streams must be declared with `record_stream`; the block is
/// then reused only after their work has completed. Thread-safe.
class Allocator {
 public:
  /// If `real` is false, blocks have null pointers and are only counted (the `null`
  /// device). `driver` allocates the memory; if it is null, host memory is used.
  Allocator(Device device, bool real, Driver* driver)
      : device_(device), real_(real), driver_(driver) {}
  ~Allocator();

  /// Returns a block for tasks on `stream`; releasing the last reference frees it.
  /// Throws std::runtime_error if memory is exhausted even after waiting for pending
  /// work and returning free blocks to the system.
  std::shared_ptr<Block> allocate(size_t bytes, MemoryCategory category,
                                  Stream& stream);

  /// Declares that tasks already enqueued on `stream`, or enqueued before the block is
  /// freed, use the block.
  void record_stream(Block& block, Stream& stream);

  /// Sets the pool for later allocations; a freed block returns to its original pool.
  void use_pool(MemoryPool pool);
  /// Count the graphs that replay on the device. After the last one, the graphs' free
  /// blocks are common ones.
  void graph_begins();
  void graph_ends();

  /// Moves the block to another category of the memory counters.
  void recategorize(Block& block, MemoryCategory category);

  /// Return the live bytes and their peak since construction or the last `reset_peak`.
  /// Counted in host program order, so that the values are reproducible across runs.
  int64_t live_bytes() const;
  int64_t peak_bytes() const;
  int64_t live_bytes(MemoryCategory category) const;
  void reset_peak();
  /// Returns the bytes obtained from the system: live ones and free blocks.
  int64_t held_bytes() const;

 private:
  void release(Block* block);
  void* take(size_t bytes, Stream& stream, size_t& capacity);
  void* from_system(size_t bytes);
  void to_system(void* data);
  void give_back_unused();
  void reclaim_pending();
  void count(MemoryCategory category, int64_t bytes);
  void record(const Block& block) const;

  struct Free {  ///< a block that its stream may reuse immediately
    void* data;
    Stream* stream;
    MemoryPool pool;
  };
  struct Pending {
    Block block;
    std::vector<EventPtr> events;  ///< all must complete before the block is free
  };

  const Device device_;
  const bool real_;
  Driver* const driver_;
  mutable std::mutex mutex_;  ///< guards the members below
  MemoryPool pool_ = MemoryPool::common;
  int graphs_ = 0;
  std::multimap<size_t, Free> free_;  ///< by capacity
  std::vector<Pending> pending_;      ///< freed, but other streams may still use them
  int64_t held_ = 0;  ///< bytes obtained from the system, including free blocks
  std::array<int64_t, kMemoryCategories> live_{};
  int64_t total_ = 0, peak_ = 0;
};

}  // namespace lockstep::runtime
