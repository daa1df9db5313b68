#include "tracer/emulate/construct/process_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tracer/format/facts.h"
#include "tracer/format/lanes.h"

namespace lockstep::tracer {
namespace {

Json port_json(int64_t port) { return port == kHost ? Json(values::host) : Json(port); }

Event name_event(const char* name, int64_t pid, int64_t tid, Json args) {
  Event event;
  event.ph = 'M';
  event.name = name;
  event.pid = pid;
  event.tid = tid;
  event.args = Args(std::move(args));
  return event;
}

}  // namespace

ProcessProgram::ProcessProgram(std::vector<const RecordedStep*> steps,
                               const Hardware* hardware)
    : steps_(std::move(steps)), costs_(added_costs(*steps_[0], hardware)) {
  for (const RecordedStep* step : steps_) {
    auto& launched = launched_.emplace_back();
    for (const Event& event : step->events) {
      stride_ = std::max(stride_, event.id + 1);
      if (is_task(event)) launched[event.op].push_back(&event);
      if (event.is(categories::kernel)) device_pid_ = event.pid;
    }
  }
  next_id_ = stride_ * static_cast<int64_t>(steps_.size());
  for (const Event& name : steps_[0]->metadata) {
    if (name.pid != device_pid_) next_thread_ = std::max(next_thread_, name.tid + 1);
  }
}

ProcessProgram::Thread ProcessProgram::new_thread(const std::string& name,
                                                  int64_t now) {
  const int64_t pid = lane_of(steps_[0]->events.front()).pid, tid = next_thread_++;
  names_.push_back(name_event(names::thread_name, pid, tid, {{keys::name, name}}));
  names_.push_back(
      name_event(names::thread_sort_index, pid, tid, {{keys::sort_index, tid}}));
  return {{pid, tid}, now};
}

int64_t ProcessProgram::open(Thread& thread, const char* cat, const char* name,
                             Json args) {
  const int64_t id = next_id_++;
  places_.emplace(id, host_.size());
  Event& event = host_.emplace_back();
  event.cat = cat;
  event.name = name;
  event.pid = thread.lane.pid;
  event.tid = thread.lane.tid;
  event.ts = thread.now++;
  event.id = id;
  event.step = steps_[0]->number;
  if (!args.is_object()) args = Json::object();
  event.args = std::move(args);
  event.args[keys::rank] = 0;
  return id;
}

int64_t ProcessProgram::open_like(Thread& thread, const Event& recorded) {
  const int64_t id = open(thread, "", "");
  Event& event = host(id);
  event.cat = recorded.cat;
  event.name = recorded.name;
  event.args = recorded.args;
  event.args[keys::rank] = 0;
  return id;
}

void ProcessProgram::close(Thread& thread, int64_t id) {
  Event& event = host(id);
  event.dur = thread.now++ - event.ts;
}

Event ProcessProgram::make_task(const char* cat, const char* name, int device,
                                int64_t stream) {
  Event task;
  task.cat = cat;
  task.name = name;
  task.pid = device_pid_ + device;
  task.tid = stream;
  task.id = next_id_++;
  task.step = steps_[0]->number;
  task.args = Json{{keys::rank, 0}, {keys::device, device}, {keys::stream, stream}};
  return task;
}

/// A kernel waits for the copies that its device has received since the one before it.
int64_t ProcessProgram::enqueue_kernel(Event task, int device) {
  Streams& streams = streams_[device];
  task.deps = std::exchange(streams.awaited, {});
  streams.last_kernel = task.id;
  tasks_.push_back(std::move(task));
  return tasks_.back().id;
}

int64_t ProcessProgram::kernel(const Kernel& kernel) {
  Event task =
      make_task(categories::kernel, kernel.name, kernel.device, kComputeStream);
  task.op = kernel.op;
  task.dur = costs_.time_of(kernel.phase, kernel.name, kernel.bytes);
  task.args[keys::phase] = kernel.phase;
  task.args[keys::bytes] = kernel.bytes;
  task.args[keys::cpu_us] = static_cast<double>(task.dur) / 1e3;
  return enqueue_kernel(std::move(task), kernel.device);
}

int64_t ProcessProgram::kernel_like(const Event& recorded, int64_t op, int device,
                                    double share) {
  Event task = recorded;
  task.id = next_id_++;
  task.op = op;
  task.pid = device_pid_ + device;
  task.args[keys::device] = device;
  for (const char* key : {keys::bytes, keys::flops}) {
    if (!task.args.contains(key)) continue;
    task.args[key] = std::llround(share * number_arg(task.args, key));
  }
  task.dur = std::llround(share * static_cast<double>(kernel_facts(recorded).cpu));
  task.args[keys::cpu_us] = static_cast<double>(task.dur) / 1e3;
  return enqueue_kernel(std::move(task), device);
}

int64_t ProcessProgram::copy(const Copy& copy, const IdList& deps) {
  Event task = make_task(categories::copy, copy.why, copy.dst, kCopyStream);
  task.op = copy.op;
  task.dur = 1;  // computed by emulate()
  if (copy.src != kHost) {
    const int64_t made = last_kernel(static_cast<int>(copy.src));
    if (made != kNone) task.deps.push_back(made);
  }
  for (const int64_t id : deps) task.deps.push_back(id);
  task.args[keys::src] = port_json(copy.src);
  task.args[keys::dst] = copy.dst;
  task.args[keys::bytes] = copy.bytes;
  task.args[keys::why] = copy.why;
  task.args[keys::tensor] = copy.tensor;
  task.args[keys::dtype] = copy.dtype;
  task.args[keys::phase] = copy.phase;
  task.args[keys::shape] = copy.shape;
  if (copy.modelled) task.args[keys::modelled] = true;
  if (copy.stage != kNone) task.args[keys::stage] = copy.stage;
  if (copy.micro_batch != kNone) task.args[keys::micro_batch] = copy.micro_batch;
  streams_[copy.dst].last_copy = task.id;
  if (!copy.awaited_later) await(copy.dst, task.id);
  tasks_.push_back(std::move(task));
  return tasks_.back().id;
}

Event& ProcessProgram::repeat(const Event& recorded, int replica, LaneKey lane,
                              int64_t shift) {
  Event event = recorded;
  event.id = id_of(recorded.id, replica);
  event.fwd = id_of(recorded.fwd, replica);
  for (int64_t& id : event.waits_for) id = id_of(id, replica);
  event.pid = lane.pid;
  event.tid = lane.tid;
  event.ts += shift;
  places_.emplace(event.id, host_.size());
  host_.push_back(std::move(event));
  return host_.back();
}

void ProcessProgram::repeat_tasks(int64_t op, int replica, int device,
                                  const std::function<void(Event&)>& change) {
  const auto found = launched_[replica].find(op);
  if (found == launched_[replica].end()) return;
  for (const Event* recorded : found->second) {
    Event task = *recorded;
    task.id = id_of(task.id, replica);
    task.op = id_of(task.op, replica);
    change(task);
    const CopyFacts facts = copy_facts(task);
    if (task.is(categories::copy) && facts.dst == kHost) {
      task.deps = {last_kernel(device)};
      streams_[device].last_copy = task.id;
      tasks_.push_back(std::move(task));
      continue;
    }
    task.pid = device_pid_ + device;
    task.args[keys::device] = device;
    if (task.is(categories::kernel)) {
      enqueue_kernel(std::move(task), device);
      continue;
    }
    task.args[keys::dst] = device;
    task.deps.clear();
    streams_[device].last_copy = task.id;
    await(device, task.id);
    tasks_.push_back(std::move(task));
  }
}

void ProcessProgram::repeat_node(const BackwardNode& node, const NodePlace& place,
                                 Thread& thread, const IdList& waits_for,
                                 const std::function<void(Event&)>& change) {
  const int64_t shift = thread.now - node.before;
  for (const Event* recorded : node.events) {
    Event& event = repeat(*recorded, place.replica, thread.lane, shift);
    event.parent = recorded->parent == kNone ? kNone : place.parent;
    if (recorded == node.wait && !waits_for.empty()) event.waits_for = waits_for;
    change(event);
    repeat_tasks(recorded->id, place.replica, place.device, change);
  }
  thread.now = node.op->end() + shift;
}

void ProcessProgram::grad_ready(const Event& recorded, int replica, int device) {
  Event& mark = marks_.emplace_back(recorded);
  mark.id = id_of(recorded.id, replica);
  mark.pid = device_pid_ + device;
  if (mark.args.contains(keys::device)) mark.args[keys::device] = device;
  mark.args[keys::by] = last_kernel(device);
}

/// Each stream runs its tasks one after another, none before it is launched.
void ProcessProgram::place_tasks() {
  LaneMap<int64_t> free;
  std::unordered_map<int64_t, int64_t> ends;
  for (Event& task : tasks_) {
    const auto launching = places_.find(task.op);
    const int64_t launched =
        launching == places_.end() ? task.ts : host_[launching->second].ts;
    int64_t& until = free[lane_of(task)];
    task.ts = std::max(launched, until) + 1;
    until = task.end();
    ends.emplace(task.id, until);
  }
  for (Event& mark : marks_) mark.ts = ends.at(int_arg(mark.args, keys::by));
}

/// The names of the recorded lanes, and those of the other devices.
void ProcessProgram::name_lanes(int devices, std::vector<Event>& events) const {
  for (const Event& recorded : steps_[0]->metadata) {
    events.push_back(recorded);
    if (recorded.pid != device_pid_) continue;
    for (int device = 1; device < devices; ++device) {
      Event& event = events.emplace_back(recorded);
      event.pid += device;
      if (event.name == names::process_name) {
        event.args[keys::name] = fmt::format("device {}", device);
      } else if (event.name == names::process_sort_index) {
        event.args[keys::sort_index] = event.pid;
      }
    }
  }
  events.insert(events.end(), names_.begin(), names_.end());
}

std::vector<Event> ProcessProgram::finish(int devices) {
  place_tasks();
  std::vector<Event> events;
  name_lanes(devices, events);
  for (auto* part : {&host_, &tasks_, &marks_}) {
    for (Event& event : *part) {
      event.step = steps_[0]->number;  // recordings of other batches have other numbers
      events.push_back(std::move(event));
    }
  }
  sort_events(events);
  return events;
}

}  // namespace lockstep::tracer
