// Facts about workers: the servers that they use, the model that they share, and what
// they wait for.
#include <algorithm>
#include <set>

#include "gui/model/event_facts.h"
#include "gui/model/lock_queue.h"

namespace lockstep::gui {

namespace {

constexpr char kWaitForWorkers[] = "wait for workers";
constexpr uint32_t kMostInAPull = 20'000;  ///< events

}  // namespace

std::string EventFacts::add_server() {
  const int64_t server = int_arg(args_, keys::server, -1);
  if (server < 0) return "servers";
  facts_.number("server", server);
  facts_.number("worker", int_arg(args_, keys::worker, -1));
  facts_.number("read", int_arg(args_, keys::read_version, -1));
  return "server";
}

bool EventFacts::add_shared_update() {
  const int64_t version = int_arg(args_, keys::version, -1);
  const int64_t read = int_arg(args_, keys::read_version, -1);
  if (read < 0 || version <= read) return false;
  facts_.number("version", version);
  facts_.number("read", read);
  facts_.number("stale", version - 1 - read);
  if (const int64_t lost = int_arg(args_, keys::lost_updates); lost > 0) {
    facts_.number("lost", lost);
  }
  return true;
}

std::string EventFacts::add_wait_for_workers() {
  std::set<int64_t> awaited;
  int64_t waited = 0;
  const uint32_t end = std::min(event_.last, event_.order + kMostInAPull);
  for (uint32_t place = event_.order; place < end; ++place) {
    const Event& event = model_.events[model_.program[place]];
    if (event.what() != Kind::sync || model_.name_of(event) != kWaitForWorkers)
      continue;
    for (const int64_t worker :
         tracer::ints_arg(args_of(model_, event), keys::workers)) {
      awaited.insert(worker);
    }
    waited += event.dur;
  }
  if (awaited.empty()) return "";
  std::string list;
  for (const int64_t worker : awaited) {
    list += (list.empty() ? "" : ", ") + std::to_string(worker);
  }
  facts_.number("awaited", static_cast<int64_t>(awaited.size()));
  facts_.text("awaited_list", list);
  if (computes()) facts_.time("waited", waited);
  facts_.number("staleness", int_arg(step_args_, keys::staleness, -1));
  return string_arg(step_args_, keys::consistency);
}

void EventFacts::add_wait_for_lock() {
  int64_t waited = 0;
  const uint32_t end = std::min(event_.last, event_.order + kMostInAPull);
  for (uint32_t place = event_.order; place < end; ++place) {
    const Event& event = model_.events[model_.program[place]];
    const bool waits =
        event.what() == Kind::sync && model_.name_of(event) == kWaitForLock;
    if (waits) waited += event.dur;
  }
  facts_.time("lock_wait", waited);
}

}  // namespace lockstep::gui
