// Stream-ordered device memory, as CUDA's caching allocator.
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

/// What a block of memory is for; the viewer's memory bar is stacked by these.
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

/// Who may be given a block: everybody, or only work that is captured (stream.h). What
/// a graph writes to belongs to it for as long as it can be replayed.
enum class MemoryPool { common, graph };

/// A piece of device memory in use. `stream` is the stream whose tasks use it.
struct Block {
  void* data = nullptr;
  size_t bytes = 0;     ///< as asked for
  size_t capacity = 0;  ///< as taken from the system
  MemoryCategory category = MemoryCategory::other;
  Stream* stream = nullptr;
  std::vector<Stream*> other_streams;  ///< see `record_stream`
  MemoryPool pool = MemoryPool::common;
};

/// Blocks are taken and given back in *host program order*: a block given back may be
/// handed out at once to later work of the same stream, since that work runs after
/// everything enqueued before it. Work of other streams must be declared with
/// `record_stream`; then reuse waits for it. Thread-safe.
class Allocator {
 public:
  /// `real` false hands out null pointers and only counts (the `null` device). With a
  /// driver the memory is its hardware's, else the host's.
  Allocator(Device device, bool real, Driver* driver)
      : device_(device), real_(real), driver_(driver) {}
  ~Allocator();

  std::shared_ptr<Block> allocate(size_t bytes, MemoryCategory category,
                                  Stream& stream);
  void record_stream(Block& block, Stream& stream);
  /// Where blocks are taken from, from now on; they return to where they came from.
  void use_pool(MemoryPool pool);
  void recategorize(Block& block, MemoryCategory category);

  /// Live bytes now and at most, in host program order: two runs give equal numbers.
  int64_t live_bytes() const;
  int64_t peak_bytes() const;
  int64_t live_bytes(MemoryCategory category) const;
  void reset_peak();

 private:
  void release(Block* block);
  void* take(size_t bytes, Stream& stream, size_t& capacity);
  void* from_system(size_t bytes);
  void to_system(void* data);
  void give_back_unused();
  void reclaim_pending();
  void count(MemoryCategory category, int64_t bytes);

  struct Free {
    void* data;
    Stream* stream;
    MemoryPool pool;
  };
  struct Pending {
    Block block;
    std::vector<EventPtr> events;
  };

  const Device device_;
  const bool real_;
  Driver* const driver_;
  mutable std::mutex mutex_;
  MemoryPool pool_ = MemoryPool::common;
  std::multimap<size_t, Free> free_;  ///< by capacity
  std::vector<Pending> pending_;
  int64_t held_ = 0;  ///< bytes taken from the system, free ones included
  std::array<int64_t, kMemoryCategories> live_{};
  int64_t total_ = 0, peak_ = 0;
};

}  // namespace lockstep::runtime
