// Lookup of events by id.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "tracer/format/trace.h"

namespace lockstep::tracer {

/// Maps ids to positions in a list of events: with an array for small ids, as in traces
/// recorded by this project, and with a hash table for all others.
class IdMap {
 public:
  /// Indexes the events for which `counts(event)` is true. If two share an id, the
  /// first is used.
  template <typename Counts>
  IdMap(const std::vector<Event>& events, Counts counts) {
    const size_t limit = 4 * events.size() + 1024;
    for (size_t i = 0; i < events.size(); ++i) {
      const int64_t id = events[i].id;
      if (id == kNone || !counts(events[i])) continue;
      const auto place = static_cast<uint64_t>(id);
      if (place >= limit) {
        sparse_.emplace(id, static_cast<uint32_t>(i));
        continue;
      }
      if (place >= dense_.size()) {
        dense_.resize(std::min(limit, 2 * place + 1024), kAbsent);
      }
      if (dense_[place] == kAbsent) dense_[place] = static_cast<uint32_t>(i);
    }
  }

  static constexpr uint32_t kAbsent = UINT32_MAX;

  uint32_t position(int64_t id) const {
    if (static_cast<uint64_t>(id) < dense_.size()) return dense_[id];
    if (sparse_.empty()) return kAbsent;
    const auto found = sparse_.find(id);
    return found == sparse_.end() ? kAbsent : found->second;
  }
  bool contains(int64_t id) const { return position(id) != kAbsent; }

 private:
  std::vector<uint32_t> dense_;
  std::unordered_map<int64_t, uint32_t> sparse_;
};

/// Refers to the trace's events: the trace must outlive it and not be modified.
class Index {
 public:
  explicit Index(const Trace& trace)
      : trace_(trace), positions_(trace.events, [](const Event& event) {
          return event.ph == 'X' || event.ph == 'i';
        }) {}

  /// Returns the `X` event or mark with this id (the first if several), or nullptr.
  const Event* find(int64_t id) const {
    const uint32_t position = positions_.position(id);
    return position == IdMap::kAbsent ? nullptr : &trace_.events[position];
  }

  /// Returns the position of that event in `trace.events`. REQUIRES: `find(id)` found
  /// one.
  size_t position(int64_t id) const { return positions_.position(id); }

 private:
  const Trace& trace_;
  const IdMap positions_;
};

}  // namespace lockstep::tracer
