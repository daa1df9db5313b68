#include "tracer/record/collect.h"

#include <algorithm>
#include <map>
#include <sstream>
#include <unordered_map>

#include "tracer/format/times.h"
#include "tracer/record/buffers.h"

namespace lockstep::tracer {
namespace {

Json split_lines(const char* text) {
  Json lines = Json::array();
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

Json to_json(const Arg& arg, const Buffer& buffer) {
  const auto list = [&] { return buffer.lists.at(arg.list.first, arg.list.count); };
  switch (arg.kind) {
    case Arg::Kind::integer:
      return arg.integer;
    case Arg::Kind::real:
      return arg.real;
    case Arg::Kind::text:
      return arg.text;
    case Arg::Kind::boolean:
      return arg.integer != 0;
    case Arg::Kind::texts:
      return split_lines(arg.text);
    case Arg::Kind::integers:
      return std::vector<int64_t>(list().begin(), list().end());
    case Arg::Kind::shapes:
      break;
  }
  Json shapes = Json::array();
  for (auto rest = list(); !rest.empty(); rest = rest.subspan(1 + rest[0])) {
    const auto dims = rest.subspan(1, rest[0]);
    shapes.push_back(std::vector<int64_t>(dims.begin(), dims.end()));
  }
  return shapes;
}

int rank_of(const Record& record, const Recorded& recorded) {
  if (record.device < 0) return record.rank;
  const auto claimed = recorded.device_ranks.find(record.device);
  return claimed == recorded.device_ranks.end() ? 0 : claimed->second;
}

Event to_event(const Entry& entry, const Buffer& buffer, const Recorded& recorded) {
  const Record& record = entry.record;
  const int rank = rank_of(record, recorded);
  Event event;
  event.ph = record.ph;
  event.cat = record.cat;
  event.name = record.name;
  event.pid = 100 * rank + (record.device < 0 ? 0 : 1 + record.device);
  event.tid = record.lane;
  event.ts = record.ts - recorded.origin;
  event.dur = record.dur;
  event.id = record.id;
  event.step = record.step;
  event.parent = record.parent;
  event.op = record.op;
  event.fwd = record.fwd;
  const auto deps = buffer.lists.at(entry.first_dep, entry.dep_count);
  event.deps.assign(deps.begin(), deps.end());
  const auto waits = buffer.lists.at(entry.first_wait, entry.wait_count);
  event.waits_for.assign(waits.begin(), waits.end());
  if (record.ph != 'C') {
    event.args[keys::rank] = rank;
    if (record.device >= 0) {
      event.args[keys::device] = record.device;
      event.args[keys::stream] = record.lane;
    }
  }
  for (const Arg& arg : buffer.args.at(entry.first_arg, entry.arg_count)) {
    event.args[arg.key] = to_json(arg, buffer);
  }
  return event;
}

Event name_event(const char* what, int64_t pid, int64_t tid, const char* key,
                 Json value) {
  Event event;
  event.ph = 'M';
  event.name = what;
  event.pid = pid;
  event.tid = tid;
  event.args[key] = std::move(value);
  return event;
}

/// Prepends process and thread names for every lane that has events.
void add_names(std::vector<Event>& events, const std::vector<std::string>& lanes) {
  std::set<std::pair<int64_t, int64_t>> used;
  std::set<int64_t> hosts;
  for (const Event& event : events) {
    used.insert({event.pid, event.tid});
    if (event.pid % 100 == 0) hosts.insert(event.pid);
  }
  static const char* const streams[] = {"compute", "copy", "comm"};
  int64_t last_pid = -1;
  std::vector<Event> names;
  for (const auto& [pid, tid] : used) {
    const int64_t rank = pid / 100;
    const bool host = pid % 100 == 0;
    if (pid != last_pid) {
      std::string name = host ? "host" : "device " + std::to_string(pid % 100 - 1);
      if (host && hosts.size() > 1) name = "rank " + std::to_string(rank) + " host";
      names.push_back(name_event("process_name", pid, 0, "name", name));
      names.back().args[keys::rank] = rank;
      names.push_back(name_event("process_sort_index", pid, 0, "sort_index", pid));
    }
    last_pid = pid;
    const auto lane = static_cast<size_t>(tid);
    std::string name = host && lane < lanes.size() ? lanes[lane] : streams[lane % 3];
    names.push_back(name_event("thread_name", pid, tid, "name", name));
    names.push_back(name_event("thread_sort_index", pid, tid, "sort_index", tid));
  }
  events.insert(events.begin(), names.begin(), names.end());
}

/// Moves each mark that was caused by a kernel to the end of that kernel.
void place_marks(std::vector<Event>& events) {
  std::unordered_map<int64_t, const Event*> kernels;
  for (const Event& event : events) {
    if (event.is(categories::kernel)) kernels[event.id] = &event;
  }
  for (Event& event : events) {
    if (!event.is(categories::mark) || event.op == kNone) continue;
    if (auto found = kernels.find(event.op); found != kernels.end()) {
      event.ts = found->second->end();
      event.args[keys::by] = event.op;
    }
    event.op = kNone;
  }
}

/// When a device's memory counters were recorded, in ns since the origin.
using CounterTimes = std::map<int, std::vector<int64_t>>;

/// Replaces the time at which a task was enqueued by the number of counters of its
/// device (and, for a copy, of its sender) that precede it: the order of allocations
/// and tasks in the host's program stays known if times change.
void count_memory_counters(Event& event, const CounterTimes& times, int64_t origin) {
  const int64_t enqueued =
      add_within_range(int_arg(event.args, keys::memory_counters), -origin);
  event.args.erase(keys::memory_counters);
  const auto count = [&](const char* key, const char* as) {
    const auto of_device = times.find(static_cast<int>(int_arg(event.args, key, -1)));
    if (of_device == times.end()) return;
    const std::vector<int64_t>& counters = of_device->second;
    event.args[as] =
        std::upper_bound(counters.begin(), counters.end(), enqueued) - counters.begin();
  };
  count(keys::device, keys::memory_counters);
  count(keys::src, keys::src_memory_counters);
}

/// Queries all sources without holding the lock: a source may call the recorder.
std::vector<DeviceActivity> reported_activities() {
  std::vector<DeviceActivitySource> sources;
  {
    std::lock_guard lock(shared().mutex);
    sources = shared().activity_sources;
  }
  std::vector<DeviceActivity> all;
  for (const DeviceActivitySource& source : sources) {
    const std::vector<DeviceActivity> activities = source();
    all.insert(all.end(), activities.begin(), activities.end());
  }
  return all;
}

std::vector<DeviceActivity> since(int64_t origin,
                                  std::vector<DeviceActivity> activities) {
  for (DeviceActivity& activity : activities) {
    activity.begin -= origin;
    activity.end -= origin;
  }
  return activities;
}

thread_local int64_t event_of_scope = kNone;

}  // namespace

ActivityScope::ActivityScope(int64_t event) { event_of_scope = event; }
ActivityScope::~ActivityScope() { event_of_scope = kNone; }

int64_t ActivityScope::event() { return event_of_scope; }

void add_activity_source(DeviceActivitySource source) {
  std::lock_guard lock(shared().mutex);
  shared().activity_sources.push_back(std::move(source));
}

std::vector<Event> events_of(const Recorded& recorded,
                             const std::vector<DeviceActivity>& activities) {
  std::vector<Event> events;
  CounterTimes counters;
  for (const auto& buffer : recorded.buffers) {
    buffer->entries.for_each([&](const Entry& entry) {
      events.push_back(to_event(entry, *buffer, recorded));
      if (entry.record.ph == 'C') {
        counters[entry.record.device].push_back(events.back().ts);
      }
    });
    buffer->rest();
  }
  for (auto& [device, times] : counters) std::sort(times.begin(), times.end());
  for (Event& event : events) {
    if (!event.args.contains(keys::memory_counters)) continue;
    count_memory_counters(event, counters, recorded.origin);
  }
  retime_events(events, since(recorded.origin, activities));
  place_marks(events);
  add_names(events, recorded.host_lanes);
  sort_events(events);
  return events;
}

std::vector<Event> collect() {
  const std::vector<DeviceActivity> activities = reported_activities();
  std::lock_guard lock(shared().mutex);
  std::vector<Event> events = events_of(shared(), activities);
  for (const auto& buffer : shared().buffers) *buffer = Buffer(shared().next_buffer++);
  shared().first_kept = next_id();
  return events;
}

}  // namespace lockstep::tracer
