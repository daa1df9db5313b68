#include "tracer/kineto/lane_names.h"

#include "tracer/format/args.h"

namespace lockstep::tracer {

LaneNames::LaneNames(const Trace& foreign) : texts_(foreign.lane_texts) {
  for (const Event& event : foreign.events) {
    if (event.ph != 'M' || event.name != names::thread_name) continue;
    std::string name = string_arg(event.args, keys::name);
    if (!name.empty()) names_.emplace(lane_of(event), std::move(name));
  }
}

std::string LaneNames::of(LaneKey thread) const {
  if (const auto name = names_.find(thread); name != names_.end()) return name->second;
  const auto text = texts_.find(thread.tid);
  return text != texts_.end() ? text->second : "thread " + std::to_string(thread.tid);
}

}  // namespace lockstep::tracer
