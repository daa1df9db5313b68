// The rules of suspicions.h, and what they have in common.
#pragma once

#include <fmt/format.h>

#include <set>
#include <string>
#include <string_view>

#include "lessons/machine/predicates.h"
#include "lessons/machine/suspicions.h"

namespace lockstep::lessons::rules {

using tracer::Event;
using tracer::Trace;

Finding straggler(const Trace& trace);
Finding loader(const Trace& trace);
Finding hook(const Trace& trace);
Finding bucket(const Trace& trace);
Finding port(const Trace& trace);
Finding division(const Trace& trace);
Finding scale(const Trace& trace);
Finding set_epoch(const Trace& trace);
Finding seeds(const Trace& trace);
Finding evaluation(const Trace& trace);

inline std::string mode_of(const Trace& trace) {
  return trace.lockstep.value("mode", "");
}

inline std::string time(int64_t ns) {
  return ns < 1'000'000 ? fmt::format("{:.0f} µs", static_cast<double>(ns) / 1e3)
                        : fmt::format("{:.1f} ms", static_cast<double>(ns) / 1e6);
}

inline int64_t rank_of(const Event& event) { return number(event, "rank", 0); }

inline bool within(const Event& inner, const Event& outer) {
  return inner.ts >= outer.ts && inner.end() <= outer.end();
}

/// Returns the phases with this name on a rank (all ranks: kNone), outermost included.
inline Events phases(const Trace& trace, std::string_view name,
                     int64_t rank = tracer::kNone) {
  Events found = events_of(trace, "phase", name);
  std::erase_if(found, [&](const Event* phase) {
    return rank != tracer::kNone && rank_of(*phase) != rank;
  });
  return found;
}

inline std::set<int64_t> ranks_of(const Trace& trace) {
  std::set<int64_t> ranks;
  for (const Event* step : phases(trace, "step")) ranks.insert(rank_of(*step));
  return ranks;
}

inline int64_t total(const Events& events) {
  int64_t sum = 0;
  for (const Event* event : events) sum += event->dur;
  return sum;
}

/// Returns the host's events of a category within an event, on the same rank.
inline Events inside(const Trace& trace, const Event& outer, std::string_view cat,
                     std::string_view name = {}) {
  Events found = events_of(trace, cat, name);
  std::erase_if(found, [&](const Event* event) {
    return event == &outer || rank_of(*event) != rank_of(outer) ||
           !within(*event, outer);
  });
  return found;
}

inline void append(Events& to, const Events& more) {
  to.insert(to.end(), more.begin(), more.end());
}

}  // namespace lockstep::lessons::rules
