#include "engine/runtime/retirer.h"

#include <algorithm>

#include "engine/runtime/device_context.h"

namespace lockstep::runtime {

Retirer::~Retirer() {
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Retirer::add(Task task, MarkPtr began, MarkPtr ended) {
  {
    std::lock_guard lock(mutex_);
    running_.push_back({std::move(task), std::move(began), std::move(ended)});
  }
  changed_.notify_one();
}

void Retirer::work() {
  for (;;) {
    Running running;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return closing_ || !running_.empty(); });
      if (running_.empty()) return;
      running = std::move(running_.front());
      running_.pop_front();
    }
    retire(running);
  }
}

void Retirer::retire(Running& running) {
  Task& task = running.task;
  int64_t ended = 0;
  try {
    running.ended->wait();
    for (const EventPtr& event : task.waits) event->wait();  // over, but heard of it?
    ended = stream_.ready_time(task);
    if (running.began) {
      // Two clocks agree to a few microseconds only, and nothing begins before it was
      // enqueued or before what it waited for was over.
      const TaskParts parts = task.parts ? *task.parts : TaskParts();
      const int64_t start =
          std::max(std::min(running.began->time(), parts.begin), ended);
      // It takes a nanosecond at least, so that a stream's tasks have an order.
      ended = std::max({running.ended->time(), start + 1, parts.end});
      // A kernel keeps its processor busy from its begin to its end.
      stream_.record(task, start, ended, ended - start);
    }
  } catch (const std::exception& error) {
    stream_.device().poison(task.record.name, error.what());
  }
  task.done->signal(ended);
}

}  // namespace lockstep::runtime
