#include "gui/model/lane_table.h"

#include <iterator>

#include "tracer/format/tokens.h"

namespace lockstep::gui {

uint32_t LaneTable::lane(const tracer::EventFields& f) {
  const Name name{number(f.pid), number(f.tid)};
  Known& recent = recent_[Hash()(name) % std::size(recent_)];
  if (recent.lane == kNone || recent.name != name) {
    const auto found = lanes_.find(name);
    recent = {name, found == lanes_.end() ? add(name) : found->second};
  }
  refused_ += recent.lane == kNone;
  return recent.lane;
}

uint32_t LaneTable::add(const Name& name) {
  if (raw_.lanes.size() >= kMaxLanes) return kNone;
  RawLane lane;
  lane.lane.pid = name.pid;
  lane.lane.tid = name.tid;
  lane.process = process_number(name.pid);
  raw_.lanes.push_back(std::move(lane));
  return lanes_[name] = static_cast<uint32_t>(raw_.lanes.size() - 1);
}

RawProcess& LaneTable::process(const tracer::EventFields& f) {
  return raw_.processes[process_number(number(f.pid))];
}

uint32_t LaneTable::process_number(int64_t pid) {
  const auto [found, fresh] =
      processes_.try_emplace(pid, static_cast<uint32_t>(raw_.processes.size()));
  if (fresh) raw_.processes.emplace_back();
  return found->second;
}

/// Other programs also use text ("Spans"): maps each text to a large negative number.
int64_t LaneTable::number(std::string_view pid_or_tid) {
  if (tracer::is_text(pid_or_tid)) {
    return -(int64_t{1} << 40) - string_number(raw_.model.strings, pid_or_tid);
  }
  return tracer::parse_integer(pid_or_tid, 0);
}

}  // namespace lockstep::gui
