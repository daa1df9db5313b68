#include "engine/runtime/pinned_memory.h"

#include <algorithm>

namespace lockstep::runtime {
namespace {

constexpr size_t kUnit = size_t{64} << 10;  // bytes; blocks are multiples

bool all_done(const std::vector<EventPtr>& events) {
  return std::all_of(events.begin(), events.end(),
                     [](const EventPtr& event) { return event->done(); });
}

}  // namespace

void* PinnedMemory::do_allocate(size_t bytes, size_t alignment) {
  if (void* data = reuse(bytes)) return data;
  if (void* data = add(bytes)) return data;
  return std::pmr::new_delete_resource()->allocate(bytes, alignment);
}

/// Returns the smallest free block that no copy reads and that is at most twice as
/// large; null if there is none. An epoch's last batch, if it has at least half of the
/// samples, thus needs none of its own.
void* PinnedMemory::reuse(size_t bytes) {
  std::lock_guard lock(mutex_);
  auto best = blocks_.end();
  for (auto it = blocks_.begin(); it != blocks_.end(); ++it) {
    const Block& block = it->second;
    if (block.used || block.bytes < bytes || block.bytes > 2 * bytes + kUnit) continue;
    if (best != blocks_.end() && best->second.bytes <= block.bytes) continue;
    if (all_done(block.readers)) best = it;
  }
  if (best == blocks_.end()) return nullptr;
  best->second.used = true;
  best->second.readers.clear();
  return const_cast<char*>(best->first);
}

/// Locking pages may wait for the hardware, which may wait for a copy that asks whether
/// its source is pinned. So the mutex is not held.
void* PinnedMemory::add(size_t bytes) {
  if (exhausted_) return nullptr;
  const size_t length = (bytes + kUnit - 1) / kUnit * kUnit;
  void* data = lock_(length);
  if (data == nullptr) {
    exhausted_ = true;
    return nullptr;
  }
  std::lock_guard lock(mutex_);
  blocks_.emplace(static_cast<const char*>(data), Block{length, true, {}});
  return data;
}

void PinnedMemory::do_deallocate(void* data, size_t bytes, size_t alignment) {
  std::lock_guard lock(mutex_);
  const auto found = block_of(data);
  if (found == blocks_.end()) {
    return std::pmr::new_delete_resource()->deallocate(data, bytes, alignment);
  }
  found->second.used = false;
}

bool PinnedMemory::contains(const void* data) {
  std::lock_guard lock(mutex_);
  return block_of(data) != blocks_.end();
}

void PinnedMemory::read_by(const void* data, EventPtr copy) {
  std::lock_guard lock(mutex_);
  const auto found = block_of(data);
  if (found != blocks_.end()) found->second.readers.push_back(std::move(copy));
}

/// REQUIRES: mutex_ is held.
PinnedMemory::Blocks::iterator PinnedMemory::block_of(const void* data) {
  const auto* byte = static_cast<const char*>(data);
  const auto found = blocks_.lower_bound(byte);  // the last one that begins before it
  const bool inside =
      found != blocks_.end() && byte < found->first + found->second.bytes;
  return inside ? found : blocks_.end();
}

}  // namespace lockstep::runtime
