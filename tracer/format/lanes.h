// The owner of each lane. A lane is one (pid, tid): a host thread, or one stream of
// a device. Names come from the file's metadata; rank, device and stream come from
// the arguments of the metadata or of the tasks that ran there. A pid is only an id.
#pragma once

#include <compare>
#include <map>
#include <string>
#include <vector>

#include "tracer/format/trace.h"

namespace lockstep::tracer {

struct LaneKey {
  int64_t pid = 0, tid = 0;
  auto operator<=>(const LaneKey&) const = default;
};

inline LaneKey lane_of(const Event& event) { return {event.pid, event.tid}; }

/// A hash table from lanes, or other pairs of numbers, to associated
/// data. It is accessed for every event, but there are only a few lanes.
template <typename Known>
class LaneMap {
 public:
  LaneMap() : slots_(64) {}

  /// Adds the key if it is new.
  Known& operator[](LaneKey key) {
    size_t slot = slot_of(key);
    if (slots_[slot] == 0) {
      if (entries_.size() * 2 >= slots_.size()) {
        grow();
        slot = slot_of(key);
      }
      entries_.emplace_back(key, Known());
      slots_[slot] = static_cast<uint32_t>(entries_.size());
    }
    return entries_[slots_[slot] - 1].second;
  }

  const Known* find(LaneKey key) const {
    const uint32_t entry = slots_[slot_of(key)];
    return entry == 0 ? nullptr : &entries_[entry - 1].second;
  }
  Known* find(LaneKey key) {
    const uint32_t entry = slots_[slot_of(key)];
    return entry == 0 ? nullptr : &entries_[entry - 1].second;
  }

  // Iterates in insertion order.
  auto begin() { return entries_.begin(); }
  auto end() { return entries_.end(); }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }

 private:
  /// Spreads neighbouring keys, and keys chosen to collide.
  static uint64_t mixed_again(uint64_t bits) {
    bits = (bits ^ (bits >> 29)) * 0xBF58476D1CE4E5B9u;
    return bits ^ (bits >> 32);
  }

  size_t slot_of(LaneKey key) const {
    const uint64_t mixed = (static_cast<uint64_t>(key.pid) * 0x9E3779B97F4A7C15u) ^
                           (static_cast<uint64_t>(key.tid) * 0xC2B2AE3D27D4EB4Fu);
    size_t slot = mixed_again(mixed) & (slots_.size() - 1);
    while (slots_[slot] != 0 && entries_[slots_[slot] - 1].first != key) {
      slot = (slot + 1) & (slots_.size() - 1);
    }
    return slot;
  }

  void grow() {
    slots_.assign(slots_.size() * 2, 0);
    for (size_t i = 0; i < entries_.size(); ++i) {
      slots_[slot_of(entries_[i].first)] = static_cast<uint32_t>(i + 1);
    }
  }

  std::vector<std::pair<LaneKey, Known>> entries_;
  std::vector<uint32_t> slots_;  ///< 1 + index, or 0 if free; a power of two in size
};

/// Returns whether `event` happened on the lane of `around` and during it, and is
/// another event.
inline bool is_inside(const Event& event, const Event& around) {
  return lane_of(event) == lane_of(around) && event.ts >= around.ts &&
         event.end() <= around.end() && event.id != around.id;
}

/// The streams of a device, as in DeviceContext.
inline constexpr int64_t kComputeStream = 0, kCopyStream = 1, kCommStream = 2;

struct Lane {
  std::string process, thread;  ///< `process_name`, `thread_name`; empty if unnamed
  int64_t process_sort = 0, thread_sort = 0;
  int64_t rank = 0;
  int64_t device = kHost;  ///< kHost for a host thread
  int64_t stream = kNone;  ///< of the device; kNone for a host thread
  bool is_host() const { return device == kHost; }
};

/// Kernels, copies and collectives: tasks that a stream runs one after another.
inline bool is_task(const Event& event) {
  return event.ph == 'X' &&
         (event.is(categories::kernel) || event.is(categories::copy) ||
          event.is(categories::collective));
}

/// A loader worker makes a batch ahead of the step that uses it: this work is not part
/// of any step's time, although the event carries a step number. (Without workers, the
/// same call lies inside the step that makes the batch and is part of it anyway.)
inline constexpr const char* kFetch = "_MapDatasetFetcher.fetch";
inline bool runs_ahead(const Event& event) {
  return event.is(categories::call) && event.name == kFetch;
}

class Lanes {
 public:
  explicit Lanes(const Trace& trace);
  Lanes(const Lanes&) = delete;
  Lanes& operator=(const Lanes&) = delete;

  /// Returns the lane of an event of this trace. Throws std::out_of_range if none.
  const Lane& of(const Event& event) const {
    Lane* const* lane = by_key_.find(lane_of(event));
    return lane ? **lane : lanes_.at(lane_of(event));
  }
  const std::map<LaneKey, Lane>& all() const { return lanes_; }

 private:
  std::map<LaneKey, Lane> lanes_;  ///< every lane that has an event
  LaneMap<Lane*> by_key_;
};

}  // namespace lockstep::tracer
