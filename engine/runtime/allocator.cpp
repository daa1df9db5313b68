#include "engine/runtime/allocator.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <new>
#include <stdexcept>
#include <string>

#include "base/memory.h"
#include "engine/runtime/stream.h"
#include "tracer/format/keys.h"
#include "tracer/record/recorder.h"

namespace lockstep::runtime {
namespace {

constexpr size_t kAlignment = 64;  // one cache line, one AVX-512 register

/// Returns host memory, or null if not enough is available.
void* host_allocate(size_t bytes) {
  const size_t alignment = bytes >= kHugePage ? kHugePage : kAlignment;
  void* data = std::aligned_alloc(alignment, bytes);
  if (data) use_huge_pages(data, bytes);
  return data;
}

/// Rounds up so that a block can be reused for similar sizes.
size_t round_up(size_t bytes) {
  const size_t unit = bytes >= kHugePage ? kHugePage : 512;
  return std::max<size_t>(unit, (bytes + unit - 1) / unit * unit);
}

/// Waits for the use of a block. During a capture (graph_capture.h) nothing runs.
void wait_for(const Event& use) {
  if (!use.captured()) use.wait();
}

}  // namespace

const char* name(MemoryCategory category) {
  return tracer::memory_categories[static_cast<int>(category)];
}

Allocator::~Allocator() {
  for (auto& [capacity, free] : free_) to_system(free.data);
  for (Pending& pending : pending_) to_system(pending.block.data);
}

void* Allocator::from_system(size_t bytes) {
  return driver_ ? driver_->allocate(device_, bytes) : host_allocate(bytes);
}

void Allocator::to_system(void* data) {
  driver_ ? driver_->free(device_, data) : std::free(data);
}

std::shared_ptr<Block> Allocator::allocate(size_t bytes, MemoryCategory category,
                                           Stream& stream) {
  auto block = std::make_unique<Block>(
      Block{nullptr, bytes, 0, category, &stream, {}, MemoryPool::common});
  std::unique_lock lock(mutex_);
  block->pool = pool_;
  if (real_) {
    block->data = take(bytes, stream, block->capacity);
    if (block->data == nullptr) {
      lock.unlock();
      give_back_unused();
      lock.lock();
      block->data = take(bytes, stream, block->capacity);
    }
    if (block->data == nullptr) {
      throw std::runtime_error(
          "out of memory: could not allocate " + std::to_string(block->capacity >> 20) +
          " MiB on " + device_.str() + ", which holds " + std::to_string(held_ >> 20) +
          " MiB; fix: use a smaller batch (-b) or fewer --devices");
    }
  }
  count(category, static_cast<int64_t>(bytes));
  record(*block);
  return {block.release(), [this](Block* b) { release(b); }};
}

void* Allocator::take(size_t bytes, Stream& stream, size_t& capacity) {
  reclaim_pending();
  capacity = round_up(bytes);
  // Use the smallest free block of this stream that fits and is at most 25% too large.
  for (auto it = free_.lower_bound(capacity);
       it != free_.end() && it->first <= capacity + capacity / 4; ++it) {
    if (it->second.stream != &stream || it->second.pool != pool_) continue;
    void* data = it->second.data;
    capacity = it->first;
    free_.erase(it);
    return data;
  }
  void* data = from_system(capacity);
  if (data) held_ += static_cast<int64_t>(capacity);
  return data;
}

/// Returns the free blocks to the system: those that are too small, belong to another
/// stream or are still used by other streams. First waits for the tasks that use them,
/// without holding the lock, since a task may free a block when it ends.
void Allocator::give_back_unused() {
  std::vector<EventPtr> uses;
  {
    std::lock_guard lock(mutex_);
    for (const Pending& pending : pending_) {
      uses.insert(uses.end(), pending.events.begin(), pending.events.end());
    }
  }
  for (const EventPtr& use : uses) wait_for(*use);
  std::multimap<size_t, Free> unused;
  {
    std::lock_guard lock(mutex_);
    reclaim_pending();
    for (auto it = free_.begin(); it != free_.end();) {
      const auto next = std::next(it);
      const bool is_free = it->second.pool == MemoryPool::common || graphs_ == 0;
      if (is_free) unused.insert(free_.extract(it));
      it = next;
    }
  }
  for (auto& [capacity, free] : unused) {
    wait_for(*free.stream->record_event());
    to_system(free.data);
    std::lock_guard lock(mutex_);
    held_ -= static_cast<int64_t>(capacity);
  }
}

void Allocator::release(Block* block) {
  std::unique_ptr<Block> owned(block);
  std::vector<EventPtr> events;
  for (Stream* stream : block->other_streams) events.push_back(stream->record_event());
  std::lock_guard lock(mutex_);
  count(block->category, -static_cast<int64_t>(block->bytes));
  record(*block);
  if (block->data == nullptr) return;
  if (events.empty()) {
    free_.emplace(block->capacity, Free{block->data, block->stream, block->pool});
  } else {
    pending_.push_back({*block, std::move(events)});
  }
}

void Allocator::reclaim_pending() {
  std::erase_if(pending_, [this](const Pending& pending) {
    for (const EventPtr& event : pending.events) {
      if (!event->done()) return false;
    }
    free_.emplace(pending.block.capacity,
                  Free{pending.block.data, pending.block.stream, pending.block.pool});
    return true;
  });
}

void Allocator::record_stream(Block& block, Stream& stream) {
  std::lock_guard lock(mutex_);
  auto& streams = block.other_streams;
  if (&stream == block.stream) return;
  if (std::find(streams.begin(), streams.end(), &stream) == streams.end()) {
    streams.push_back(&stream);
  }
}

void Allocator::use_pool(MemoryPool pool) {
  std::lock_guard lock(mutex_);
  pool_ = pool;
}

void Allocator::graph_begins() {
  std::lock_guard lock(mutex_);
  ++graphs_;
}

void Allocator::graph_ends() {
  std::lock_guard lock(mutex_);
  if (--graphs_ > 0) return;
  for (auto& [capacity, free] : free_) free.pool = MemoryPool::common;
  for (Pending& pending : pending_) pending.block.pool = MemoryPool::common;
}

void Allocator::recategorize(Block& block, MemoryCategory category) {
  std::lock_guard lock(mutex_);
  if (block.category == category) return;
  count(block.category, -static_cast<int64_t>(block.bytes));
  block.category = category;
  count(category, static_cast<int64_t>(block.bytes));
  record(block);
}

void Allocator::count(MemoryCategory category, int64_t bytes) {
  live_[static_cast<int>(category)] += bytes;
  total_ += bytes;
  peak_ = std::max(peak_, total_);
}

/// Appends a counter to the trace, after `block` was taken, freed or moved to another
/// category. Its lane is the last of the streams that use the block: compute, copy,
/// comm. REQUIRES: mutex_ is held, so that the counters are in program order.
void Allocator::record(const Block& block) const {
  if (!tracer::recording()) return;
  std::array<tracer::Arg, kMemoryCategories> args;
  for (int i = 0; i < kMemoryCategories; ++i) {
    args[i] = tracer::Arg(name(static_cast<MemoryCategory>(i)), live_[i]);
  }
  StreamKind last = block.stream->kind();
  for (const Stream* stream : block.other_streams)
    last = std::max(last, stream->kind());
  tracer::Record record{'C', "memory", "memory", device_.trace_id(),
                        static_cast<int>(last)};
  record.ts = tracer::now_ns();
  tracer::append(record, args);
}

int64_t Allocator::live_bytes() const {
  std::lock_guard lock(mutex_);
  return total_;
}

int64_t Allocator::peak_bytes() const {
  std::lock_guard lock(mutex_);
  return peak_;
}

int64_t Allocator::live_bytes(MemoryCategory category) const {
  std::lock_guard lock(mutex_);
  return live_[static_cast<int>(category)];
}

void Allocator::reset_peak() {
  std::lock_guard lock(mutex_);
  peak_ = total_;
}

int64_t Allocator::held_bytes() const {
  std::lock_guard lock(mutex_);
  return held_;
}

}  // namespace lockstep::runtime
