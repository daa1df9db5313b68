// The events of a Trace by name: see named_events.h.
#pragma once

#include <map>
#include <set>

#include "tests/tracer/named_events.h"
#include "tracer/format/index.h"
#include "tracer/format/lanes.h"

namespace lockstep::tracer::testing {

/// The cause of each event: `args.op`, `args.parent`, or the enclosing event on its
/// lane. The keys are ids. Does not refer to the trace after construction.
class NamedTrace : public NamedEvents {
 public:
  explicit NamedTrace(const Trace& trace) : index_(trace), lanes_(trace) {
    std::set<int64_t> ranks;
    for (const Event& event : trace.events) {
      if (!is_named(event)) continue;
      ranks.insert(lanes_.of(event).rank);
      callees_[caller_of(event)].push_back(&event);
    }
    for (const int64_t rank : ranks) {
      const size_t top =
          ranks.size() > 1 ? add(0, "rank " + std::to_string(rank), kGroup) : 0;
      add_callees(trace, kNone, rank, top);
    }
    callees_.clear();
  }

 private:
  static bool is_named(const Event& event) {
    return (event.ph == 'X' || event.ph == 'i') && event.id != kNone;
  }

  int64_t caller_of(const Event& event) {
    std::vector<const Event*>& open = open_[lane_of(event)];
    // A mark at the very end of an event belongs to that event.
    const auto is_over = [&](const Event& before) {
      return event.ph == 'i' ? before.end() < event.ts : before.end() <= event.ts;
    };
    while (!open.empty() && is_over(*open.back())) open.pop_back();
    const Event* around = open.empty() ? nullptr : open.back();
    if (event.ph == 'X') open.push_back(&event);
    const bool is_message =
        around != nullptr && around->is("collective") && around->op == event.op;
    for (const int64_t cause : {event.op, event.parent}) {
      if (!is_message && index_.find(cause) != nullptr) return cause;
    }
    return around == nullptr ? kNone : around->id;
  }

  void add_callees(const Trace& trace, int64_t caller, int64_t rank, size_t node) {
    for (const Event* event : callees_[caller]) {
      const Lane& lane = lanes_.of(*event);
      if (lane.rank != rank) continue;
      std::string name = event->name.empty() ? event->cat : event->name;
      if (event->name == "step" && event->step != kNone) {
        name += " " + std::to_string(event->step);
      }
      if (!lane.is_host()) name += "@" + device_name(trace, lane.device);
      const size_t added =
          add(node, name, event->id, lane.is_host() ? lane.thread : "");
      add_callees(trace, event->id, rank, added);
    }
  }

  static std::string device_name(const Trace& trace, int64_t number) {
    if (const auto devices = trace.lockstep.find("devices");
        devices != trace.lockstep.end()) {
      for (const Json& device : *devices) {
        if (device["id"] == number) return device["name"];
      }
    }
    return "device " + std::to_string(number);
  }

  const Index index_;
  const Lanes lanes_;
  std::map<LaneKey, std::vector<const Event*>> open_;
  std::map<int64_t, std::vector<const Event*>> callees_;
};

/// Returns the event of `trace` with the path `path` in `names`. `names` may belong to
/// the trace that `trace` was derived from. Throws std::out_of_range.
inline Event& event_at(Trace& trace, const NamedEvents& names, std::string_view path) {
  const int64_t id = names[path];
  for (Event& event : trace.events) {
    if (event.id == id && event.ph != 's' && event.ph != 'f') return event;
  }
  throw std::out_of_range("this trace has lost '" + std::string(path) + "'");
}

inline const Event& event_at(const Trace& trace, const NamedEvents& names,
                             std::string_view path) {
  return event_at(const_cast<Trace&>(trace), names, path);
}

}  // namespace lockstep::tracer::testing
