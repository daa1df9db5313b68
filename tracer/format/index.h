// Lookup of events by id.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "tracer/format/trace.h"

namespace lockstep::tracer {

/// Maps ids to positions in a list of events: a table if the ids are
/// small, as in traces recorded by this project, otherwise a hash table.
class IdMap {
 public:
  /// Indexes events for which `counts(event)`. If two share an id, the first is used.
  template <typename Counts>
  IdMap(const std::vector<Event>& events, Counts counts) {
    int64_t most = -1;
    for (const Event& event : events) {
      if (counts(event)) most = std::max(most, event.id);
    }
    if (most < static_cast<int64_t>(4 * events.size() + 1024)) {
      dense_.assign(static_cast<size_t>(most + 1), kAbsent);
    }
    for (size_t i = 0; i < events.size(); ++i) {
      const int64_t id = events[i].id;
      if (id == kNone || !counts(events[i])) continue;
      if (dense_.empty() || id < 0) {
        sparse_.emplace(id, static_cast<uint32_t>(i));
      } else if (uint32_t& position = dense_[static_cast<size_t>(id)];
                 position == kAbsent) {
        position = static_cast<uint32_t>(i);
      }
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

  /// Returns its position in `trace.events`; REQUIRES that `find(id)` found one.
  size_t position(int64_t id) const { return positions_.position(id); }

 private:
  const Trace& trace_;
  const IdMap positions_;
};

}  // namespace lockstep::tracer
