// A program that was not run, of several devices and one process: host threads, each
// with a clock of its own, and the streams of the devices, as engine/runtime has them.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "tracer/emulate/construct/rank_program.h"
#include "tracer/emulate/construct/replica_step.h"

namespace lockstep::tracer {

/// Writes the events. Tasks must be written in the order in which the engine
/// enqueues them, on whatever thread: this is the order of each stream.
class ProcessProgram {
 public:
  /// `steps`: what each replica repeats. They must outlive this object. `hardware` may
  /// be null.
  ProcessProgram(std::vector<const RecordedStep*> steps, const Hardware* hardware);

  /// What a host thread does next begins at `now`.
  struct Thread {
    LaneKey lane;
    int64_t now = 0;  ///< ns
  };
  Thread new_thread(const std::string& name, int64_t now);

  /// Begins an event of a thread. Returns its id.
  int64_t open(Thread& thread, const char* cat, const char* name, Json args = {});
  /// Begins an event with the name and the arguments of a recorded one.
  int64_t open_like(Thread& thread, const Event& recorded);
  void close(Thread& thread, int64_t id);
  /// Returns a host event that has been written. A reference is valid until the next
  /// event is written.
  Event& host(int64_t id) { return host_[places_.at(id)]; }

  /// The host time that launching a kernel or a copy takes.
  void launch(Thread& thread) const { thread.now += costs_.launch; }
  /// Returns the time of a kernel that moves `bytes`.

  struct Kernel {
    int64_t op = kNone;
    int device = 0;
    const char *name = "", *phase = "";
    int64_t bytes = 0;
  };
  /// Enqueues a kernel that only moves memory. Returns its id.
  int64_t kernel(const Kernel& kernel);
  /// Enqueues a part of a recorded kernel: this share of its bytes and of its time.
  int64_t kernel_like(const Event& recorded, int64_t op, int device, double share);

  struct Copy {
    int64_t op = kNone;
    int64_t src = kHost;
    int dst = 0;
    const char *why = "", *phase = "", *tensor = "";
    std::string dtype;
    std::vector<int64_t> shape;
    int64_t bytes = 0;
    bool modelled = false;                       ///< one of a library's broadcast
    int64_t stage = kNone, micro_batch = kNone;  ///< of a pipeline's message
    bool awaited_later = false;                  ///< by await() only
  };
  /// Enqueues a copy that waits for the kernels that its source has been given, and for
  /// `deps`; later kernels of its destination wait for it. Returns its id.
  int64_t copy(const Copy& copy, const IdList& deps = {});
  /// The next kernel of a device waits for a task.
  void await(int device, int64_t id) { streams_[device].awaited.push_back(id); }

  /// Repeats a host event of a replica's step `shift` ns later than recorded.
  Event& repeat(const Event& recorded, int replica, LaneKey lane, int64_t shift);
  /// Repeats the tasks that an operation of a replica's step launched, for which
  /// `change` is called. What they wait for is what their streams are to wait for.
  void repeat_tasks(int64_t op, int replica, int device,
                    const std::function<void(Event&)>& change);
  void repeat_tasks(int64_t op, int replica,
                    const std::function<void(Event&)>& change) {
    repeat_tasks(op, replica, replica, change);
  }

  /// Who runs a node of the backward pass.
  struct NodePlace {
    int replica = 0, device = 0;
    int64_t parent = kNone;
  };
  /// Repeats what a thread of the backward pass did for a node. If `waits_for` is not
  /// empty, the thread waits for that instead.
  void repeat_node(const BackwardNode& node, const NodePlace& place, Thread& thread,
                   const IdList& waits_for, const std::function<void(Event&)>& change);
  /// A gradient is ready once the last kernel of its device has ended.
  void grad_ready(const Event& recorded, int replica = 0, int device = 0);

  /// Returns the number of an event of a replica's step in this program.
  int64_t id_of(int64_t recorded, int replica) const {
    return recorded == kNone ? kNone : recorded + replica * stride_;
  }
  int64_t last_kernel(int device) { return streams_[device].last_kernel; }
  int64_t last_copy(int device) { return streams_[device].last_copy; }

  /// Returns all events with the times that the host needs: those of tasks are only in
  /// order, and are to be computed by emulate(). Sorted.
  std::vector<Event> finish(int devices);

 private:
  /// The compute and copy streams of a device.
  struct Streams {
    int64_t last_kernel = kNone, last_copy = kNone;
    IdList awaited;  ///< by the next kernel
  };
  Event make_task(const char* cat, const char* name, int device, int64_t stream);
  int64_t enqueue_kernel(Event task, int device);
  int64_t enqueue_copy(Event task, int src, int dst);
  void name_lanes(int devices, std::vector<Event>& events) const;
  void place_tasks();

  const std::vector<const RecordedStep*> steps_;
  const AddedCosts costs_;
  int64_t stride_ = 0, next_id_ = 0, next_thread_ = 0, device_pid_ = 1;
  std::vector<Event> host_, tasks_, marks_, names_;
  std::unordered_map<int64_t, size_t> places_;  ///< of host events, by id
  /// Of each step: the tasks that an operation launched.
  std::vector<std::unordered_map<int64_t, std::vector<const Event*>>> launched_;
  std::map<int, Streams> streams_;
};

}  // namespace lockstep::tracer
