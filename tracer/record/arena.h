// Append-only storage whose values never move.
//
// A growing std::vector copies all of its content to new memory from time to time: a
// single event would take milliseconds, which the trace would attribute to the program.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

namespace lockstep::tracer {

class JournalFile;

/// What a block holds; the numbers are those in a journal's file.
enum class BlockKind : uint32_t { none, entries, args, lists, notes, filler };

/// Precedes the values of a block, in memory or in the file of a journal (journal.h).
struct alignas(64) BlockHeader {
  std::atomic<BlockKind> kind{BlockKind::none};  ///< in a file it is written last
  uint32_t buffer = 0;            ///< the number of the buffer that it belongs to
  uint64_t first = 0;             ///< values of the arena before this block
  uint64_t bytes = 0;             ///< that fit
  std::atomic<uint64_t> used{0};  ///< values that are complete
  JournalFile* file = nullptr;    ///< null: in memory
};

/// Returns a block with room for `bytes`: in the file of the journal if one is open and
/// takes it, otherwise in memory. Throws std::bad_alloc. Thread-safe, as is free_block.
BlockHeader* new_block(BlockKind kind, uint32_t buffer, uint64_t first, size_t bytes);
BlockHeader* memory_block(BlockKind kind, uint32_t buffer, uint64_t first,
                          size_t bytes);
void free_block(BlockHeader* block);

/// Says that a full block will only be read, later: it need not stay in memory if it
/// lies in a file.
void rest_block(BlockHeader* block);

/// Not thread-safe.
template <typename T>
class Arena {
  static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= alignof(BlockHeader));

 public:
  explicit Arena(BlockKind kind, uint32_t buffer = 0) : kind_(kind), buffer_(buffer) {}

  /// Appends copies of `values`, contiguously. Returns the place
  /// of the first one, which is the number of values before it.
  uint32_t append(std::span<const T> values) {
    if (room_ < values.size()) add_block(values.size());
    const auto place = static_cast<uint32_t>(size());
    if (values.empty()) return place;
    BlockHeader& block = *blocks_.back();
    const uint64_t used = block.used.load(std::memory_order_relaxed);
    std::memcpy(values_of(block) + used, values.data(), values.size_bytes());
    block.used.store(used + values.size(), std::memory_order_release);
    room_ -= values.size();
    return place;
  }

  /// Returns `count` values that were appended together, starting
  /// at `place`. The result is valid for the lifetime of the arena.
  std::span<const T> at(uint32_t place, size_t count) const {
    if (count == 0) return {};
    const BlockHeader& block = **(block_after(place) - 1);
    return {values_of(block) + (place - block.first), count};
  }

  /// Returns whether `at` has a result: false for places of a damaged journal.
  bool has(uint32_t place, size_t count) const {
    if (count == 0) return true;
    const auto after = block_after(place);
    if (after == blocks_.begin()) return false;
    const BlockHeader& block = **(after - 1);
    return place + count <= block.first + block.used;
  }

  size_t size() const {
    return blocks_.empty() ? 0 : blocks_.back()->first + blocks_.back()->used;
  }

  /// Calls `visit` with each value, in order.
  template <typename Visit>
  void for_each(Visit visit) const {
    for (const auto& block : blocks_) {
      std::for_each_n(values_of(*block), block->used.load(), visit);
    }
  }

  /// Its values need not stay in memory for now; they can still be read.
  void rest() const {
    for (const auto& block : blocks_) rest_block(block.get());
  }

  /// The next values go to a new block.
  void end_block() { room_ = 0; }

  /// Adds a block of a journal that is being read; in ascending order of `first`.
  void adopt(uint64_t first, std::span<const T> values) {
    blocks_.emplace_back(memory_block(kind_, buffer_, first, values.size_bytes()));
    if (values.empty()) return;
    std::memcpy(values_of(*blocks_.back()), values.data(), values.size_bytes());
    blocks_.back()->used = values.size();
  }

 private:
  struct Free {
    void operator()(BlockHeader* block) const { free_block(block); }
  };
  static constexpr size_t kSmallest = 4 << 10, kLargest = 256 << 10;

  static T* values_of(BlockHeader& block) { return reinterpret_cast<T*>(&block + 1); }
  static const T* values_of(const BlockHeader& block) {
    return reinterpret_cast<const T*>(&block + 1);
  }

  auto block_after(uint32_t place) const {
    return std::upper_bound(
        blocks_.begin(), blocks_.end(), place,
        [](uint32_t wanted, const auto& block) { return wanted < block->first; });
  }

  /// Adds a block four times as large as the last one, so
  /// that a thread that records little uses little memory.
  void add_block(size_t at_least) {
    if (!blocks_.empty()) rest_block(blocks_.back().get());
    bytes_ = std::clamp(bytes_ * 4, kSmallest, kLargest);
    const size_t bytes = std::max(bytes_, at_least * sizeof(T));
    blocks_.emplace_back(new_block(kind_, buffer_, size(), bytes));
    room_ = bytes / sizeof(T);
  }

  BlockKind kind_;
  uint32_t buffer_;
  std::vector<std::unique_ptr<BlockHeader, Free>> blocks_;
  size_t room_ = 0;   ///< values that still fit into the last block
  size_t bytes_ = 0;  ///< size of the last block
};

}  // namespace lockstep::tracer
