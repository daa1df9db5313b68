#include "engine/runtime/stream.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "engine/runtime/completion_thread.h"
#include "engine/runtime/device_context.h"
#include "tracer/record/device_activity.h"

namespace lockstep::runtime {

Stream::Stream(DeviceContext& device, StreamKind kind)
    : device_(device),
      kind_(kind),
      last_(std::make_shared<Event>(std::vector<TraceEnd>{})) {
  last_->signal();
  if (Driver* driver = device_.driver()) {
    hardware_ = driver->make_queue(device_.device());
    completion_ = std::make_unique<CompletionThread>(*this);
  }
  worker_ = std::thread([this] { work(); });
}

Stream::~Stream() {
  {
    std::lock_guard lock(mutex_);
    release_held();
    closing_ = true;
  }
  changed_.notify_all();
  worker_.join();
}

EventPtr Stream::enqueue(Task task) {
  std::lock_guard lock(mutex_);
  release_held();
  EventPtr done = prepare(task);
  push(std::move(task));
  return done;
}

EventPtr Stream::enqueue_amendable(Task task) {
  std::lock_guard lock(mutex_);
  release_held();
  EventPtr done = prepare(task);
  held_.push_back(std::move(task));
  return done;
}

void Stream::wait(const EventPtr& event) {
  std::lock_guard lock(mutex_);
  release_held();
  if (event) pending_waits_.push_back(event);
}

EventPtr Stream::record_event() {
  std::lock_guard lock(mutex_);
  release_held();
  if (pending_waits_.empty()) return last_;
  // What the next task would wait for is enqueued already: it has to be over, too.
  std::vector<TraceEnd> ends = last_->ends();
  for (const EventPtr& event : pending_waits_) {
    ends.insert(ends.end(), event->ends().begin(), event->ends().end());
  }
  if (tracer::recording()) {
    met_.insert(met_.end(), pending_waits_.begin(), pending_waits_.end());
  }
  Task meeting;
  meeting.run = [] {};
  prepare(meeting);
  meeting.done = last_ = std::make_shared<Event>(std::move(ends));
  push(std::move(meeting));
  return last_;
}

bool Stream::amend(const void* address, const std::function<void(Task&)>& change) {
  std::lock_guard lock(mutex_);
  if (held_.empty() || address == nullptr || held_[0].writes != address) return false;
  change(held_[0]);
  return true;
}

std::shared_ptr<void> Stream::held(const void* address) {
  std::lock_guard lock(mutex_);
  const bool matches =
      address != nullptr && !held_.empty() && held_[0].writes == address;
  return matches ? held_[0].call : nullptr;
}

GraphPtr Stream::capture(const std::function<void()>& enqueue_all) {
  GraphPtr graph;
  Task begin, end;
  begin.shared = end.shared = true;  // a capture that has begun must end
  begin.record.name = end.record.name = "capture";
  begin.run = [this] {
    hardware_->begin_capture();
    capturing_ = true;
  };
  end.run = [this, &graph] {
    if (!std::exchange(capturing_, false)) return;
    graph = hardware_->end_capture();
  };
  enqueue(std::move(begin));
  try {
    enqueue_all();
  } catch (...) {
    enqueue(std::move(end))->wait();
    throw;
  }
  enqueue(std::move(end))->wait();
  return device_.poisoned() ? nullptr : graph;
}

EventPtr Stream::replay(GraphPtr graph) {
  Task task;
  task.record.name = "graph";
  task.run = [this, graph = std::move(graph)] { hardware_->launch(*graph); };
  return enqueue(std::move(task));
}

EventPtr Stream::prepare(Task& task) {
  for (EventPtr& event : pending_waits_) task.waits.push_back(std::move(event));
  pending_waits_.clear();
  if (task.record.id != tracer::kNone) {  // the trace must know what we met
    task.waits.insert(task.waits.end(), met_.begin(), met_.end());
    met_.clear();
  }
  const bool on_host = task.host_lane >= 0;
  task.record.device = on_host ? -1 : device_.device().trace_id();
  task.record.rank = tracer::current_rank();
  task.record.lane = on_host ? task.host_lane : static_cast<int>(kind_);
  std::vector<TraceEnd> ends;
  if (task.record.id != tracer::kNone) ends.push_back({task.record.id, this});
  task.done = last_ = std::make_shared<Event>(std::move(ends));
  return last_;
}

void Stream::push(Task task) {
  if (task.record.id != tracer::kNone) task.enqueued = tracer::now_ns();
  queue_.push_back(std::move(task));
  changed_.notify_one();
}

void Stream::release_held() {
  if (held_.empty()) return;
  push(std::move(held_[0]));
  held_.clear();
}

void Stream::work() {
  device_.prepare_worker();
  if (hardware_) hardware_->bind();
  for (;;) {
    Task task;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return closing_ || !queue_.empty(); });
      if (queue_.empty()) return;
      task = std::move(queue_.front());
      queue_.pop_front();
    }
    if (hardware_) {
      hand_over(std::move(task));
      continue;
    }
    execute(task);
    EventPtr done = std::move(task.done);
    const bool recorded = task.record.id != tracer::kNone;
    const int64_t ended =
        recorded ? task.record.ts + task.record.dur : ready_time(task);
    task = Task();  // what the task kept alive ends before anyone hears of it
    done->signal(ended);
  }
}

int64_t Stream::ready_time(const Task& task) const {
  int64_t ready = std::max(task.enqueued, last_end_);
  for (const EventPtr& event : task.waits) ready = std::max(ready, event->ended());
  return ready;
}

void Stream::execute(Task& task) {
  for (const EventPtr& event : task.waits) event->wait();
  if (device_.poisoned() && !task.shared) return;

  const bool recorded = task.record.id != tracer::kNone;
  const int tokens = task.takes_cores ? device_.tokens().acquire(device_.threads()) : 0;
  const int64_t cpu_start = recorded ? tracer::thread_cpu_ns() : 0;
  const int64_t start = recorded ? tracer::now_ns() : 0;
  try {
    task.run();
  } catch (const std::exception& error) {
    device_.poison(task.record.name, error.what());
  }
  const int64_t end = recorded ? tracer::now_ns() : 0;
  const int64_t cpu = recorded ? tracer::thread_cpu_ns() - cpu_start : 0;
  if (tokens > 0) device_.tokens().release(tokens);
  if (recorded) record(task, start, end, cpu);
}

/// The hardware runs the task later. What it waits for may be only handed over as well:
/// then queue waits for queue, and nobody here waits for either.
void Stream::hand_over(Task task) {
  const bool recorded = task.record.id != tracer::kNone;
  MarkPtr began, ended;
  try {
    for (const EventPtr& event : task.waits) {
      if (const Mark* mark = event->handed_over()) hardware_->wait(*mark);
    }
    if (!device_.poisoned() || task.shared) {
      if (recorded) began = hardware_->mark(true);
      const tracer::ActivityScope scope(task.record.id);
      hardware_->begin_range(task.record.name);
      try {
        task.run();
      } catch (...) {
        hardware_->end_range();
        throw;
      }
      hardware_->end_range();
    }
  } catch (const std::exception& error) {
    device_.poison(task.record.name, error.what());
  }
  if (capturing_) {  // it is not done now, so that nobody can wait for it
    task.run = {};
    task.call.reset();
    task.done->signal();
    return;
  }
  try {
    ended = hardware_->mark(recorded);
  } catch (const std::exception& error) {
    device_.poison(task.record.name, error.what());
    task.done->signal();
    return;
  }
  task.run = {};  // what the task kept alive ends before anyone hears of it
  task.call.reset();
  task.done->hand_over(ended);
  completion_->add(std::move(task), std::move(began), std::move(ended));
}

void Stream::record(Task& task, int64_t start, int64_t end, int64_t cpu) {
  task.record.ts = start;
  task.record.dur = end - start;
  task.args.emplace_back("queued_us",
                         static_cast<double>(start - ready_time(task)) / 1e3);
  last_end_ = end;
  task.args.emplace_back("cpu_us", static_cast<double>(cpu) / 1e3);
  if (task.record.cat == std::string_view("copy")) {
    task.args.push_back(tracer::Arg::integers("shape", task.shape));
  }
  std::vector<int64_t> deps;
  for (const EventPtr& event : task.waits) {
    for (const TraceEnd& end : event->ends()) {
      const bool known = std::find(deps.begin(), deps.end(), end.id) != deps.end();
      if (end.stream != this && !known) deps.push_back(end.id);  // our order is implied
    }
  }
  tracer::append(task.record, task.args, deps);
}

}  // namespace lockstep::runtime
