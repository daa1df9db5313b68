#include "engine/runtime/completion_thread.h"

#include <algorithm>

#include "engine/runtime/device_context.h"

namespace lockstep::runtime {

CompletionThread::~CompletionThread() {
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void CompletionThread::add(LaunchedTask launched, MarkPtr ended) {
  {
    std::lock_guard lock(mutex_);
    running_.push_back({std::move(launched), std::move(ended)});
  }
  changed_.notify_one();
}

void CompletionThread::work() {
  for (;;) {
    Running running;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return closing_ || !running_.empty(); });
      if (running_.empty()) return;
      running = std::move(running_.front());
      running_.pop_front();
    }
    complete(running);
  }
}

void CompletionThread::complete(Running& running) {
  Task& task = running.launched.task;
  const Mark* const began = running.launched.began.get();
  int64_t ended = 0;
  try {
    running.ended->wait();
    // These have completed, but may not have been signalled yet.
    for (const EventPtr& event : task.waits) event->wait();
    ended = stream_.ready_time(task);
    if (began) {
      // Host and device clocks agree only to within a few microseconds; a task must not
      // begin before it was enqueued or before the tasks that it waited for had ended.
      const TaskParts parts = task.parts ? *task.parts : TaskParts();
      const int64_t start = std::max(std::min(began->time(), parts.begin), ended);
      // At least one nanosecond, so that a stream's tasks are strictly ordered.
      ended = std::max({running.ended->time(), start + 1, parts.end});
      // The device is busy throughout, so the CPU time equals the duration.
      stream_.record(task, start, ended, ended - start);
    }
  } catch (const std::exception& error) {
    stream_.device().poison(task.record.name, error.what());
  }
  task.done->signal(ended);
}

}  // namespace lockstep::runtime
