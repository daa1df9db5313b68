#include "tracer/emulate/construct/rank_program.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "tracer/format/facts.h"

namespace lockstep::tracer {
namespace {

template <typename T>
T median(std::vector<T> values, T fallback) {
  if (values.empty()) return fallback;
  const auto middle = values.begin() + static_cast<int64_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

constexpr int64_t kLarge = 1'000'000;  // bytes

constexpr int64_t kCompute = 0, kComm = 2;  // streams, and their lanes' tids

bool on_compute_stream(const Event& event) {
  return is_task(event) && int_arg(event.args, keys::stream, kNone) == kCompute;
}

}  // namespace

int64_t AddedCosts::time_of(const std::string& phase, const std::string& kernel,
                            int64_t bytes) const {
  const auto known = rates.find(phase + " " + kernel);
  const double rate = known == rates.end() ? bytes_per_ns : known->second;
  if (rate <= 0) return 0;
  return std::max<int64_t>(1, static_cast<int64_t>(static_cast<double>(bytes) / rate));
}

AddedCosts added_costs(const RecordedStep& step, const Hardware* hardware) {
  std::unordered_map<int64_t, int> launched;  // by op
  std::vector<double> rates;
  for (const Event& event : step.events) {
    if (!event.is(categories::kernel)) continue;
    ++launched[event.op];
    const int64_t bytes = int_arg(event.args, keys::bytes),
                  time = kernel_facts(event).cpu;
    if (bytes >= kLarge && time > 0 && !event.args.contains(keys::flops)) {
      rates.push_back(static_cast<double>(bytes) / static_cast<double>(time));
    }
  }
  std::vector<int64_t> launches;
  for (const Event& event : step.events) {
    const auto found = launched.find(event.id);
    if (found != launched.end() && found->second == 1) launches.push_back(event.dur);
  }
  AddedCosts costs{median<int64_t>(std::move(launches), 0),
                   median(std::move(rates), 0.0)};
  if (hardware != nullptr) costs.rates = hardware->memory.gb_per_s;
  return costs;
}

RankProgram::RankProgram(const RecordedStep& step, const Hardware* hardware)
    : costs_(added_costs(step, hardware)),
      recorded_(step.events),
      number_(step.number) {
  for (const Event& event : recorded_) {
    next_id_ = std::max(next_id_, event.id + 1);
    if (on_compute_stream(event)) device_pid_ = event.pid;
  }
}

void RankProgram::at(const Place& place, const std::function<void()>& fill) {
  insertions_.push_back({place, 1, {}});  // 1 ns after what is there
  fill();
}

/// Appends a host event without a length to the current insertion.
Event& RankProgram::add(char ph, const char* cat, const char* name) {
  Insertion& insertion = insertions_.back();
  Event& event = insertion.events.emplace_back();
  event.ph = ph;
  event.cat = cat;
  event.name = name;
  event.pid = insertion.place.lane.pid;
  event.tid = insertion.place.lane.tid;
  event.ts = insertion.length;
  event.id = next_id_++;
  event.step = number_;
  event.args = Json{{keys::rank, 0}};
  return event;
}

void RankProgram::phase(const char* name, const std::function<void()>& fill,
                        Json args) {
  const size_t place = insertions_.back().events.size();
  Event& opened = add('X', categories::phase, name);
  if (args.is_object()) {
    for (const auto& [key, value] : args.items()) opened.args[key] = value;
  }
  fill();
  Insertion& insertion = insertions_.back();
  Event& phase = insertion.events[place];
  phase.dur = ++insertion.length - phase.ts;
}

void RankProgram::mark(const char* name, Args args) {
  Event& mark = add('i', categories::mark, name);
  mark.args = std::move(args);
  mark.args[keys::rank] = 0;
  ++insertions_.back().length;
}

Event RankProgram::make_task(const char* cat, const char* name, int64_t stream,
                             IdList deps) {
  Event task;
  task.cat = cat;
  task.name = name;
  task.pid = device_pid_;
  task.tid = stream;
  task.id = next_id_++;
  task.step = number_;
  task.deps = std::move(deps);
  task.args = Json{{keys::rank, 0}, {keys::device, 0}, {keys::stream, stream}};
  return task;
}

int64_t RankProgram::kernel(const char* op, const char* name, const char* phase,
                            int64_t bytes, IdList deps, const std::string& param) {
  Event& launching = add('X', categories::op, op);
  launching.dur = costs_.launch;
  launching.args[keys::bytes] = bytes;
  if (!param.empty()) launching.args[keys::param] = param;
  const int64_t op_id = launching.id;
  insertions_.back().length += costs_.launch + 1;
  Event task = make_task(categories::kernel, name, kCompute, std::move(deps));
  task.op = op_id;
  task.dur = costs_.time_of(phase, name, bytes);
  task.args[keys::phase] = phase;
  task.args[keys::bytes] = bytes;
  task.args[keys::cpu_us] = static_cast<double>(task.dur) / 1e3;
  tasks_.push_back(std::move(task));
  return tasks_.back().id;
}

int64_t RankProgram::launch(const char* op, Json args) {
  Event& launching = add('X', categories::op, op);
  launching.dur = costs_.launch;
  for (const auto& [key, value] : args.items()) launching.args[key] = value;
  insertions_.back().length += costs_.launch + 1;
  return launching.id;
}

void RankProgram::wait(const IdList& ids, const char* why) {
  Event& sync = add('X', categories::sync, "synchronize");
  sync.dur = 1;
  sync.waits_for = ids;
  sync.args[keys::why] = why;
  insertions_.back().length += 2;
}

int64_t RankProgram::collective(const char* op, const char* name, IdList deps,
                                Json args) {
  Event& launching = add('X', categories::op, op);
  launching.dur = costs_.launch;
  const int64_t op_id = launching.id;
  insertions_.back().length += costs_.launch + 1;
  Event task = make_task(categories::collective, name, kComm, std::move(deps));
  task.op = op_id;
  for (const auto& [key, value] : args.items()) task.args[key] = value;
  tasks_.push_back(std::move(task));
  return tasks_.back().id;
}

void RankProgram::next_kernel_waits(int64_t at, int64_t id) {
  waits_.emplace_back(at, id);
}

Event& RankProgram::task(int64_t id) {
  return *std::find_if(tasks_.begin(), tasks_.end(),
                       [&](const Event& task) { return task.id == id; });
}

/// Returns how much later the host does what it did at `time`.
int64_t RankProgram::delay(int64_t time) const {
  int64_t sum = 0;
  for (const Insertion& insertion : insertions_) {
    if (insertion.place.at < time) sum += insertion.length;
  }
  return sum;
}

std::vector<Event> RankProgram::host_events() const {
  std::vector<Event> events;
  for (const Event& event : recorded_) {
    if (on_compute_stream(event)) continue;
    Event& moved = events.emplace_back(event);
    moved.ts = event.ts + delay(event.ts);
    moved.dur = event.end() + delay(event.end()) - moved.ts;
  }
  std::map<int64_t, int64_t> used;  // by place: the length of earlier insertions there
  for (const Insertion& insertion : insertions_) {
    const int64_t at = insertion.place.at;
    const int64_t begin = at + delay(at) + used[at];
    used[at] += insertion.length;
    for (Event event : insertion.events) {
      event.ts += begin;
      events.push_back(std::move(event));
    }
  }
  return events;
}

/// Returns the tasks of the compute and comm streams: each stream in the order in which
/// the host launches them.
std::vector<Event> RankProgram::tasks_in_order(const std::vector<Event>& host) const {
  std::unordered_map<int64_t, int64_t> launched;
  for (const Event& event : host) launched.emplace(event.id, event.ts);
  const auto launch_of = [&](const Event& task) {
    const auto found = launched.find(task.op);
    return found == launched.end() ? task.ts : found->second;
  };
  std::vector<Event> tasks = tasks_;
  for (const Event& event : recorded_) {
    if (on_compute_stream(event)) tasks.push_back(event);
  }
  std::stable_sort(tasks.begin(), tasks.end(), [&](const Event& a, const Event& b) {
    const auto key = [&](const Event& task) {
      return std::tuple(launch_of(task), task.ts);
    };
    return key(a) < key(b);
  });
  std::map<int64_t, int64_t> free;  // by stream
  for (Event& task : tasks) {
    int64_t& until = free[task.tid];
    task.ts = std::max(launch_of(task), until) + 1;
    until = task.end();
  }
  for (const auto& [at, id] : waits_) {
    const int64_t from = at + delay(at);
    const auto next = std::find_if(tasks.begin(), tasks.end(), [&](const Event& task) {
      return task.tid == kCompute && task.id < id && launch_of(task) > from &&
             task.op < tasks_.front().op;
    });
    if (next != tasks.end()) next->deps.push_back(id);
  }
  return tasks;
}

std::vector<Event> RankProgram::finish() {
  std::vector<Event> events = host_events();
  const std::vector<Event> tasks = tasks_in_order(events);
  std::unordered_map<int64_t, int64_t> ends;
  for (const Event& task : tasks) ends.emplace(task.id, task.end());
  for (Event& event : events) {
    if (event.ph != 'i' || event.name != names::grad_ready) continue;
    const auto by = ends.find(int_arg(event.args, keys::by, kNone));
    if (by != ends.end()) event.ts = by->second;
  }
  events.insert(events.end(), tasks.begin(), tasks.end());
  sort_events(events);
  return events;
}

}  // namespace lockstep::tracer
