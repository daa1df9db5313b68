#include "lessons/machine/predicates.h"

#include <algorithm>
#include <map>
#include <unordered_set>

#include "tracer/format/keys.h"

namespace lockstep::lessons {
namespace {

bool has_text(const tracer::Event& event, const char* key, std::string_view value) {
  return event.args.contains(key) && text(event, key) == value;
}

}  // namespace

Events copies_because(const tracer::Trace& trace, std::string_view why) {
  Events found;
  for (const tracer::Event& event : trace.events) {
    if (event.is("copy") && has_text(event, tracer::keys::why, why))
      found.push_back(&event);
  }
  return found;
}

int64_t bytes_of(const Events& copies) {
  int64_t sum = 0;
  for (const tracer::Event* copy : copies) sum += number(*copy, "bytes", 0);
  return sum;
}

Events events_of(const tracer::Trace& trace, std::string_view cat,
                 std::string_view name) {
  Events found;
  for (const tracer::Event& event : trace.events) {
    if (event.cat == cat && (name.empty() || event.name == name)) {
      found.push_back(&event);
    }
  }
  return found;
}

Events in_step(const Events& events, int64_t step) {
  Events found;
  for (const tracer::Event* event : events) {
    if (event->step == step) found.push_back(event);
  }
  return found;
}

Events in_phase(const tracer::Trace& trace, std::string_view phase) {
  Events found;
  for (const tracer::Event& event : trace.events) {
    const bool work = event.is("kernel") || event.is("copy");
    if (work && has_text(event, "phase", phase)) found.push_back(&event);
  }
  return found;
}

Events host_waits_in(const tracer::Trace& trace,
                     const std::vector<std::string>& functions) {
  const Events syncs = events_of(trace, "sync");
  Events waits;
  for (const tracer::Event* call : events_of(trace, "call")) {
    const bool asked = std::ranges::any_of(
        functions, [&](const std::string& name) { return call->name == name; });
    if (!asked || !call->args.contains(tracer::keys::slot)) continue;
    for (const tracer::Event* sync : syncs) {
      const bool same_lane = sync->pid == call->pid && sync->tid == call->tid;
      if (same_lane && sync->ts >= call->ts && sync->end() <= call->end()) {
        waits.push_back(sync);
      }
    }
  }
  return waits;
}

const tracer::Event* event_with_id(const tracer::Trace& trace, int64_t id) {
  if (id == tracer::kNone) return nullptr;
  for (const tracer::Event& event : trace.events) {
    if (event.id == id) return &event;
  }
  return nullptr;
}

int64_t number(const tracer::Event& event, const char* key, int64_t otherwise) {
  return tracer::int_arg(event.args, key, otherwise);
}

std::string text(const tracer::Event& event, const char* key) {
  return tracer::string_arg(event.args, key);
}

bool depends_on(const tracer::Trace& trace, int64_t later, int64_t earlier) {
  std::map<int64_t, const tracer::Event*> by_id;
  std::map<std::pair<int64_t, int64_t>, const tracer::Event*> newest;
  std::map<const tracer::Event*, const tracer::Event*> before;  // on the same stream
  for (const tracer::Event& event : trace.events) {
    if (event.id == tracer::kNone) continue;
    by_id[event.id] = &event;
    if (!event.is("kernel") && !event.is("copy") && !event.is("collective")) continue;
    auto& last = newest[{event.pid, event.tid}];
    before[&event] = last;
    last = &event;
  }
  std::vector<int64_t> stack{later};
  std::unordered_set<int64_t> seen;
  while (!stack.empty()) {
    const int64_t id = stack.back();
    stack.pop_back();
    if (id == earlier) return true;
    if (!seen.insert(id).second || !by_id.contains(id)) continue;
    const tracer::Event* event = by_id[id];
    for (int64_t dep : event->deps) stack.push_back(dep);
    const auto previous = before.find(event);
    if (previous != before.end() && previous->second) {
      stack.push_back(previous->second->id);
    }
  }
  return false;
}

}  // namespace lockstep::lessons
