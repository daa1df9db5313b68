#include "engine/runtime/stream.h"

#include <stdexcept>
#include <utility>

#include "engine/runtime/completion_thread.h"
#include "engine/runtime/device_context.h"
#include "engine/runtime/pace.h"
#include "engine/runtime/stream_trace.h"
#include "tracer/record/device_activity.h"

namespace lockstep::runtime {
namespace {

bool is_emulated(const DeviceContext& device) {
  return device.device().type == DeviceType::emulated;
}

}  // namespace

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
  if (!event) return;
  event->want();
  pending_waits_.push_back(event);
}

EventPtr Stream::record_event() {
  std::lock_guard lock(mutex_);
  release_held();
  if (hardware_ && !tracer::recording()) {  // an empty task would idle the device
    std::erase_if(pending_waits_, [](const EventPtr& event) { return event->done(); });
  }
  if (pending_waits_.empty()) {
    last_->want();
    return last_;
  }
  // The event must also cover what the next task would wait for, so an empty task waits
  // for it.
  std::vector<TraceEnd> ends = last_->ends();
  for (const EventPtr& event : pending_waits_) {
    ends.insert(ends.end(), event->ends().begin(), event->ends().end());
  }
  if (tracer::recording()) {
    untraced_waits_.insert(untraced_waits_.end(), pending_waits_.begin(),
                           pending_waits_.end());
  }
  Task join;
  join.run = [] {};
  prepare(join);
  join.done = last_ = std::make_shared<Event>(std::move(ends));
  last_->want();
  push(std::move(join));
  return last_;
}

std::vector<TraceEnd> Stream::newest_ends() {
  std::lock_guard lock(mutex_);
  return last_->ends();
}

bool Stream::amend(const void* address, const std::function<void(Task&)>& change) {
  std::lock_guard lock(mutex_);
  if (held_.empty() || address == nullptr || held_[0].writes != address) return false;
  change(held_[0]);
  return true;
}

bool Stream::replace_held(const void* address,
                          const std::function<void(Task&)>& change) {
  std::lock_guard lock(mutex_);
  if (held_.empty() || address == nullptr || held_[0].writes != address) return false;
  change(held_[0]);
  release_held();
  return true;
}

std::shared_ptr<void> Stream::held(const void* address) {
  std::lock_guard lock(mutex_);
  const bool matches =
      address != nullptr && !held_.empty() && held_[0].writes == address;
  return matches ? held_[0].call : nullptr;
}

EventPtr Stream::prepare(Task& task) {
  for (EventPtr& event : pending_waits_) task.waits.push_back(std::move(event));
  pending_waits_.clear();
  task.done = last_ = std::make_shared<Event>(describe(task));
  return last_;
}

void Stream::push(Task task) {
  if (task.recorded() || is_emulated(device_)) task.enqueued = tracer::now_ns();
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
    const int64_t ended = end_time(task);
    task = Task();  // destroys what the task kept alive before it counts as done
    done->signal(ended);
  }
}

void Stream::execute(Task& task) {
  for (const EventPtr& event : task.waits) event->wait();
  if (device_.poisoned() && !task.shared) return;
  if (is_emulated(device_)) return emulate(task);

  const int tokens = task.takes_cores ? device_.tokens().acquire(device_.threads()) : 0;
  TaskTimer timer(task);
  try {
    task.run();
  } catch (const std::exception& error) {
    device_.poison(task.record.name, error.what());
  }
  timer.stop();
  if (tokens > 0) device_.tokens().release(tokens);
  if (task.recorded()) record(task, timer.start, timer.end, timer.cpu);
}

/// The task says how long it takes by advancing its span.
void Stream::emulate(Task& task) {
  Span& span = task_span();
  span.begin = span.end = ready_time(task);
  try {
    task.run();
  } catch (const std::exception& error) {
    device_.poison(task.record.name, error.what());
  }
  if (task.recorded()) record(task, span.begin, span.end, span.end - span.begin);
  last_end_ = span.end;
}

/// The hardware runs the task later. Its dependencies on work in other hardware queues
/// become waits between queues; no host thread waits for that work to complete.
void Stream::hand_over(Task task) {
  // What this task waits for may itself wait for the tasks launched so far.
  if (!task.waits.empty()) mark_launched();
  // A capture's turn is not held while another worker must take it first.
  for (const EventPtr& event : task.waits) event->handed_over();
  MarkPtr began;
  std::unique_lock<std::mutex> turn;
  if (capturing_) turn = std::unique_lock(*turn_);
  try {
    for (const EventPtr& event : task.waits) {
      const Mark* mark = event->handed_over();
      if (mark && !event->done()) hardware_->wait(*mark);
    }
    if (capturing_ && task.uses_host_memory) {
      throw std::runtime_error(
          "CUDA graphs replay copies from and to the host without the host's part in "
          "them; fix: omit --cuda-graph");
    }
    if (!device_.poisoned() || task.shared) {
      if (task.recorded()) began = hardware_->mark(true);
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
  if (turn) turn.unlock();
  task.run = {};  // destroys what the task kept alive before it counts as done
  task.call.reset();
  if (capturing_) return add_to_capture(task);
  if (task.completes_on_return && !task.recorded()) {
    mark_launched();
    task.done->signal();
    return;
  }
  const bool now = must_be_marked(task);
  launched_.push_back({std::move(task), std::move(began)});
  if (now) mark_launched();
}

/// A mark after each task would cost as much as launching a small kernel. Kernels that
/// nobody waits for share the next mark, unless the worker may become idle.
bool Stream::must_be_marked(const Task& task) {
  constexpr size_t kMostTogether = 16;
  if (kind_ != StreamKind::compute || task.recorded() || task.done->wanted()) {
    return true;
  }
  if (launched_.size() + 1 >= kMostTogether) return true;
  std::lock_guard lock(mutex_);
  return queue_.empty();
}

/// Marks the end of the launched tasks; the completion thread waits for that mark.
void Stream::mark_launched() {
  if (launched_.empty()) return;
  MarkPtr ended;
  try {
    ended = hardware_->mark(launched_.back().task.recorded());
  } catch (const std::exception& error) {
    device_.poison(launched_.back().task.record.name, error.what());
  }
  for (LaunchedTask& launched : launched_) {
    if (!ended) {
      launched.task.done->signal();
      continue;
    }
    launched.task.done->hand_over(ended);
    completion_->add(std::move(launched), ended);
  }
  launched_.clear();
}

}  // namespace lockstep::runtime
