// A stream: a queue of work for a device that runs in order, like cudaStream_t.
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

/// The time span (ns) of those parts of a task that have their own events, such as a
/// collective's messages. The task's event always encloses it.
struct TaskParts {
  int64_t begin = INT64_MAX, end = 0;
};

/// A unit of work enqueued by the host.
struct Task {
  std::function<void()> run;
  bool takes_cores = false;     ///< holds core tokens while it runs, as kernels do
  std::vector<EventPtr> waits;  ///< of other streams; `enqueue` adds pending ones
  /// With a hardware queue: the hardware has completed the task when `run` returns, as
  /// with copies to the host.
  bool completes_on_return = false;
  bool shared = false;  ///< runs even on a failed device: other devices wait for it
  bool uses_host_memory = false;  ///< a graph must not repeat it: refused in a capture
  const void* writes = nullptr;   ///< address of the first output; see `amend`
  std::shared_ptr<void> call;     ///< data used by `run`; kept alive by the task

  int host_lane = -1;             ///< ≥ 0: the event is on that lane of the host (d2h)
  tracer::Record record;          ///< its event; id kNone: not recorded
  std::vector<tracer::Arg> args;  ///< no lists: those belong to the recording thread
  std::vector<int64_t> shape;     ///< of a copied tensor
  std::shared_ptr<TaskParts> parts;  ///< of the parts with their own events, or null
  EventPtr done;                     ///< set by `enqueue`
  int64_t enqueued = 0;              ///< ns, if recorded or emulated
  int64_t ordered = 0;  ///< ns, if recorded: when its place in the queue was determined

  bool recorded() const { return record.id != tracer::kNone; }
};

/// A task in a hardware queue, and the mark before it if it is recorded.
struct LaunchedTask {
  Task task;
  MarkPtr began;
};

/// A FIFO of tasks and the worker thread that runs them. The host enqueues tasks and
/// runs ahead. All members may be called from any thread.
///
/// A task that throws poisons the device: later tasks are skipped, their events are
/// still signalled, and the next host wait rethrows the exception.
class Stream {
 public:
  Stream(DeviceContext& device, StreamKind kind);
  ~Stream();  ///< runs all queued tasks first
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  /// Appends a task. Returns the event that is signalled on its completion.
  EventPtr enqueue(Task task);

  /// Makes the stream's next task wait for `event` (cudaStreamWaitEvent).
  void wait(const EventPtr& event);

  /// Returns an event that is signalled when everything enqueued before this call has
  /// completed (cudaEventRecord). Never null.
  EventPtr record_event();

  /// Returns the trace events of the newest task, which may still be held back. Unlike
  /// `record_event`, this does not change what can be fused into it.
  std::vector<TraceEnd> newest_ends();

  /// Appends a task but holds it back until another task follows, so that an operation
  /// on its result can be fused into it (see `amend`).
  EventPtr enqueue_amendable(Task task);

  /// If the newest task is still held back and writes to `address`, applies `change` to
  /// it and returns true. This is how `relu_` and `add_` are fused into the operation
  /// before them, without a second pass over memory.
  bool amend(const void* address, const std::function<void(Task&)>& change);

  /// Like `amend`, for a change after which nothing can be fused into the task: it is
  /// no longer held back.
  bool replace_held(const void* address, const std::function<void(Task&)>& change);

  /// Returns the `call` of the held-back task that writes to `address`, or null.
  std::shared_ptr<void> held(const void* address);

  // The parts of `capture` and `replay` (graph_capture.h), for hardware queues.

  /// From here on, tasks are captured. `turn` is locked around the calls that capture:
  /// CUDA's graphs are not thread-safe. Returns an event in the capture.
  EventPtr begin_capture(std::shared_ptr<std::mutex> turn);
  /// The same for another stream, once the capture has begun with `begun`.
  EventPtr join_capture(const EventPtr& begun, std::shared_ptr<std::mutex> turn);
  /// Ends what `begin_capture` began, after `joined`, the ends of the other streams.
  /// On completion, `graph` is set, or null and the device is poisoned.
  EventPtr end_capture(std::vector<EventPtr> joined, GraphPtr& graph);
  /// Ends what `join_capture` began. REQUIRES: the capture has ended.
  EventPtr leave_capture();
  /// Runs the graph as one task, after `waits`.
  EventPtr launch(GraphPtr graph, std::vector<EventPtr> waits);

  StreamKind kind() const { return kind_; }
  DeviceContext& device() const { return device_; }

  // For the thread that completes the tasks (stream_trace.cpp): the worker, or the
  // completion thread if hardware runs the tasks.

  /// Returns the time (ns) from which the task was waiting only for a core. The time
  /// from then until its start counts as queued.
  int64_t ready_time(const Task& task) const;
  /// Appends the task's event to the trace. REQUIRES: everything it waited for is done.
  void record(Task& task, int64_t start, int64_t end, int64_t cpu);

 private:
  EventPtr prepare(Task& task);
  std::vector<TraceEnd> describe(Task& task);
  int64_t end_time(const Task& task) const;
  void push(Task task);
  void release_held();
  void work();
  void execute(Task& task);
  void emulate(Task& task);
  void hand_over(Task task);
  void add_to_capture(Task& task);
  void forget_captured();
  bool must_be_marked(const Task& task);
  void mark_launched();

  DeviceContext& device_;
  StreamKind kind_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> queue_;
  std::vector<Task> held_;  ///< at most one
  std::vector<EventPtr> pending_waits_;
  std::vector<EventPtr> untraced_waits_;  ///< of unrecorded tasks since the last
                                          ///< recorded one
  EventPtr last_;
  bool closing_ = false;
  int64_t last_end_ = 0;  ///< of the last task that is recorded or emulated;
                          ///< completing thread only
  // Of a capture; worker thread only.
  bool capturing_ = false;
  std::shared_ptr<std::mutex> turn_;
  std::vector<EventPtr> captured_;   ///< of the captured tasks; worker thread only
  std::unique_ptr<Queue> hardware_;  ///< null: the worker runs the tasks itself
  std::unique_ptr<CompletionThread> completion_;  ///< only with hardware
  /// Launched, but not yet followed by a mark; worker thread only.
  std::vector<LaunchedTask> launched_;
  std::thread worker_;
};

}  // namespace lockstep::runtime
