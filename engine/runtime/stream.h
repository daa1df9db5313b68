// A stream: a queue of work for a device that runs in order, as cudaStream_t.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/runtime/event.h"
#include "tracer/record/recorder.h"

namespace lockstep::runtime {

class DeviceContext;
class CompletionThread;

enum class StreamKind { compute = 0, copy = 1, comm = 2 };

/// The span (ns) of the parts of a task that have events of their own, like a
/// collective's messages. The task's event always encloses it.
struct TaskParts {
  int64_t begin = INT64_MAX, end = 0;
};

/// One unit of work, as the host enqueues it.
struct Task {
  std::function<void()> run;
  bool takes_cores = false;     ///< holds core tokens while it runs, as kernels do
  std::vector<EventPtr> waits;  ///< of other streams; `enqueue` adds pending ones
  bool shared = false;  ///< runs on a failed device, too: other devices wait for it
  const void* writes = nullptr;  ///< address of the first output; see `amend`
  std::shared_ptr<void> call;    ///< what `run` needs; kept alive with the task

  int host_lane = -1;     ///< ≥ 0: the event lies on that lane of the host (d2h)
  tracer::Record record;  ///< its event; id kNone: not recorded
  std::vector<tracer::Arg> args;     ///< no lists: these belong to the recording thread
  std::vector<int64_t> shape;        ///< of a copied tensor
  std::shared_ptr<TaskParts> parts;  ///< of the parts with events of their own, or null
  EventPtr done;                     ///< set by `enqueue`
  int64_t enqueued = 0;              ///< ns, if recorded

  bool recorded() const { return record.id != tracer::kNone; }
};

/// A FIFO of tasks and the worker thread that runs them. The host enqueues and runs
/// ahead. All members may be called from any thread.
///
/// A task that throws poisons the device: later tasks are skipped, their events are
/// still signalled, and the next host wait rethrows the exception.
class Stream {
 public:
  Stream(DeviceContext& device, StreamKind kind);
  ~Stream();  ///< runs all queued tasks first
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  /// Appends a task. Returns the event of its completion.
  EventPtr enqueue(Task task);

  /// Makes the stream's next task wait for `event` (cudaStreamWaitEvent).
  void wait(const EventPtr& event);

  /// Returns the event of the completion of everything enqueued so far
  /// (cudaEventRecord). Never null.
  EventPtr record_event();

  /// Appends a task but holds it back until another one follows, so that an operation
  /// on its result can be fused into it (see `amend`).
  EventPtr enqueue_amendable(Task task);

  /// If the newest task is still held back and writes to `address`, applies `change` to
  /// it and returns true. This is how `relu_` is fused into the batch norm, addition or
  /// convolution before it, without a second pass over memory.
  bool amend(const void* address, const std::function<void(Task&)>& change);

  /// Returns the `call` of the held-back task that writes to `address`, or null.
  std::shared_ptr<void> held(const void* address);

  /// Records the tasks that `enqueue_all` enqueues here instead of running them.
  /// Blocks; rethrows what `enqueue_all` throws. Returns null, with the device
  /// poisoned, if a task failed. REQUIRES: hardware, and no other thread enqueues here
  /// meanwhile.
  GraphPtr capture(const std::function<void()>& enqueue_all);
  /// Runs what was captured here, as one task. The caller must keep the graph until
  /// that has happened.
  EventPtr replay(GraphPtr graph);

  StreamKind kind() const { return kind_; }
  DeviceContext& device() const { return device_; }

  // For the thread that completes the tasks (stream_trace.cpp): the worker, or the
  // completion thread where hardware runs them.

  /// Returns when the task needed nothing but a core any more (ns). The time from there
  /// to its start counts as queued.
  int64_t ready_time(const Task& task) const;
  /// Appends the task's event to the trace. REQUIRES: all that it waited for is done.
  void record(Task& task, int64_t start, int64_t end, int64_t cpu);

 private:
  EventPtr prepare(Task& task);
  std::vector<TraceEnd> describe(Task& task);
  int64_t end_time(const Task& task) const;
  void push(Task task);
  void release_held();
  void work();
  void execute(Task& task);
  void hand_over(Task task);

  DeviceContext& device_;
  StreamKind kind_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> queue_;
  std::vector<Task> held_;  ///< at most one
  std::vector<EventPtr> pending_waits_;
  std::vector<EventPtr> untraced_waits_;  ///< of tasks without an event since the last
                                          ///< one with an event
  EventPtr last_;
  bool closing_ = false;
  int64_t last_end_ = 0;    ///< of the last recorded task; for the completing thread
  bool capturing_ = false;  ///< for the worker; see `capture`
  std::unique_ptr<Queue> hardware_;  ///< null: the worker runs the tasks itself
  std::unique_ptr<CompletionThread> completion_;  ///< only with hardware
  std::thread worker_;
};

}  // namespace lockstep::runtime
