// Append-only storage whose values never move.
//
// A growing std::vector copies all of its content to new memory from time to time: a
// single event would take milliseconds, which the trace would attribute to the program.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <vector>

namespace lockstep::tracer {

/// Not thread-safe.
template <typename T>
class Arena {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  /// Appends copies of `values`, contiguously. Returns the place
  /// of the first one, which is the number of values before it.
  uint32_t append(std::span<const T> values) {
    if (room_ < values.size()) add_block(values.size());
    const auto place = static_cast<uint32_t>(size());
    if (values.empty()) return place;
    Block& block = blocks_.back();
    std::memcpy(block.values.get() + block.used, values.data(), values.size_bytes());
    block.used += values.size();
    room_ -= values.size();
    return place;
  }

  /// Returns `count` values that were appended together, starting
  /// at `place`. The result is valid for the lifetime of the arena.
  std::span<const T> at(uint32_t place, size_t count) const {
    if (count == 0) return {};
    const auto after = std::upper_bound(
        blocks_.begin(), blocks_.end(), place,
        [](uint32_t wanted, const Block& block) { return wanted < block.first; });
    const Block& block = *(after - 1);
    return {block.values.get() + (place - block.first), count};
  }

  size_t size() const {
    return blocks_.empty() ? 0 : blocks_.back().first + blocks_.back().used;
  }

  /// Calls `visit` with each value, in order.
  template <typename Visit>
  void for_each(Visit visit) const {
    for (const Block& block : blocks_) {
      std::for_each_n(block.values.get(), block.used, visit);
    }
  }

 private:
  struct Free {
    void operator()(T* values) const { std::free(values); }
  };
  struct Block {
    std::unique_ptr<T, Free> values;
    size_t first = 0, used = 0;
  };
  static constexpr size_t kSmallest = 4 << 10, kLargest = 256 << 10;

  /// Adds a block four times as large as the last one, so
  /// that a thread that records little uses little memory.
  void add_block(size_t at_least) {
    bytes_ = std::clamp(bytes_ * 4, kSmallest, kLargest);
    const size_t bytes = std::max(bytes_, at_least * sizeof(T));
    auto* memory = static_cast<T*>(std::malloc(bytes));
    if (memory == nullptr) throw std::bad_alloc();
    blocks_.push_back({std::unique_ptr<T, Free>(memory), size()});
    room_ = bytes / sizeof(T);
  }

  std::vector<Block> blocks_;
  size_t room_ = 0;   ///< values that still fit into the last block
  size_t bytes_ = 0;  ///< size of the last block
};

}  // namespace lockstep::tracer
