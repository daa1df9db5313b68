// A stream: a queue of work for a device, done in order, as cudaStream_t.
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

/// From when to when parts of a task ran that are recorded by themselves (ns), like a
/// collective's messages: the task's event lies around them, whatever clocks say.
struct TaskParts {
  int64_t begin = INT64_MAX, end = 0;
};

/// One unit of work, as it is enqueued by the host.
struct Task {
  std::function<void()> run;
  bool takes_cores = false;     ///< compute kernels hold core tokens while they run
  std::vector<EventPtr> waits;  ///< of other streams; `enqueue` adds pending ones
  bool shared = false;  ///< others wait for its part: a failed device does it, too
  const void* writes = nullptr;  ///< address of the first output; see `amend`
  std::shared_ptr<void> call;    ///< what `run` needs; kept alive with the task

  int host_lane = -1;     ///< ≥ 0: the event lies on that lane of the host (d2h)
  tracer::Record record;  ///< filled while recording; id kNone: leaves no event
  std::vector<tracer::Arg> args;     ///< no lists: those belong to the recording thread
  std::vector<int64_t> shape;        ///< of a copied tensor
  std::shared_ptr<TaskParts> parts;  ///< those that leave events of their own; or null
  EventPtr done;                     ///< set by `enqueue`
  int64_t enqueued = 0;              ///< ns, if recorded
};

/// A FIFO of tasks and the thread that works it off. The host only enqueues and runs
/// ahead. All members may be called from any thread.
///
/// A task that throws poisons the device: later tasks are skipped (their events are
/// still signalled, so nobody waits for ever) and the next host wait rethrows.
class Stream {
 public:
  Stream(DeviceContext& device, StreamKind kind);
  ~Stream();  ///< finishes what is queued
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  /// Appends a task; returns the event of its completion.
  EventPtr enqueue(Task task);

  /// The stream's next task will start only after `event` (cudaStreamWaitEvent).
  void wait(const EventPtr& event);

  /// Completion of everything enqueued so far (cudaEventRecord). Never null.
  EventPtr record_event();

  /// Appends a task but holds it back until something follows it, so that an operation
  /// on its result can still melt into it (see `amend`).
  EventPtr enqueue_amendable(Task task);

  /// If the newest task is still held back and writes to `address`, applies `change` to
  /// it and returns true. This is how `relu_` joins the batch norm, addition or
  /// convolution before it without a second pass over memory.
  bool amend(const void* address, const std::function<void(Task&)>& change);

  /// The `call` of the held-back task that writes to `address`; null if there is none.
  std::shared_ptr<void> held(const void* address);

  /// Only with hardware: the tasks that `enqueue_all` enqueues here are recorded
  /// instead of done. Blocks; rethrows what `enqueue_all` throws. Null if a task
  /// failed: the device is poisoned then. REQUIRES: nobody else enqueues here
  /// meanwhile.
  GraphPtr capture(const std::function<void()>& enqueue_all);
  /// Does what was captured here, as one task. REQUIRES: the caller keeps the graph
  /// until that is over.
  EventPtr replay(GraphPtr graph);

  StreamKind kind() const { return kind_; }
  DeviceContext& device() const { return device_; }

  // For the thread that completes tasks: the worker, or with hardware the
  // CompletionThread.

  /// When nothing but a core was missing any more. Whatever passes until the task
  /// starts (other kernels' cores, this thread's wake-up) is waiting for one.
  int64_t ready_time(const Task& task) const;
  /// Appends the task's event to the trace. REQUIRES: all that it waited for is done.
  void record(Task& task, int64_t start, int64_t end, int64_t cpu);

 private:
  EventPtr prepare(Task& task);
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
  std::vector<EventPtr> met_;  ///< waited for, but by no task that the trace shows
  EventPtr last_;
  bool closing_ = false;
  int64_t last_end_ = 0;    ///< of the last recorded task; of who runs the tasks
  bool capturing_ = false;  ///< of the worker; see `capture`
  std::unique_ptr<Queue> hardware_;  ///< null: the worker runs the tasks itself
  std::unique_ptr<CompletionThread> completion_;  ///< only with hardware
  std::thread worker_;
};

}  // namespace lockstep::runtime
