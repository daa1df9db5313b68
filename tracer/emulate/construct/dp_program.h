// One step of DataParallel, in the order of DataParallel::forward and of its tape
// (engine/parallel), or of DataParallelModel with DataParallelCriterion. The groups of
// tensors are engine/plan's.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/plan/coalesce.h"
#include "tracer/emulate/construct/process_program.h"
#include "tracer/emulate/construct/replica_step.h"
#include "tracer/emulate/construct/whole_batch.h"
#include "tracer/emulate/hardware/hardware.h"

namespace lockstep::tracer {

/// Tensors that are sent in groups.
struct Coalesced {
  std::string dtype;
  std::vector<const ModelTensor*> tensors;
  std::vector<int64_t> bytes;

  void add(const ModelTensor& tensor) {
    dtype = tensor.dtype;
    tensors.push_back(&tensor);
    bytes.push_back(tensor.bytes);
  }
  int64_t bytes_of(const plan::Group& group) const {
    int64_t sum = 0;
    for (const size_t i : group) sum += bytes[i];
    return sum;
  }
  int64_t numel_of(const plan::Group& group) const {
    int64_t sum = 0;
    for (const size_t i : group) sum += tensors[i]->numel;
    return sum;
  }
};

/// Returns what `replicate` broadcasts: the parameters, then the buffers by type, of
/// the module `wrapped` (empty: the network).
std::vector<Coalesced> replicated(const RecordedStep& step, const std::string& wrapped);

/// Where DataParallel computes the loss.
enum class LossOn : uint8_t {
  first_device,  ///< of the gathered outputs
  each_device,   ///< of each chunk: DataParallelCriterion
};

class DpProgram {
 public:
  /// `steps`: what the replica of each chunk repeats. `whole`: if set, only the module
  /// `features` is replicated, and device 0 repeats the rest of this step of the whole
  /// batch. They must outlive this object.
  DpProgram(const std::vector<const RecordedStep*>& steps, int devices,
            std::string device_type, const Hardware* hardware,
            LossOn loss = LossOn::first_device, const RecordedStep* whole = nullptr);

  /// Returns all events of the step. May be called once.
  std::vector<Event> run();

 private:
  using Thread = ProcessProgram::Thread;

  /// What device 0 and the main thread repeat, apart from the replicas.
  const ReplicaStep& first() const { return first_; }
  /// Returns the place of a replica's step among those of `program_`.
  int step_of(int replica) const { return whole_ ? replica + 1 : replica; }
  int replicas() const { return static_cast<int>(replicas_.size()); }

  /// From the recorded time `at` on, the main thread is `now - at` later.
  void continue_main(int64_t at, int64_t now) { shifts_.emplace_back(at, now - at); }
  int64_t shift_at(int64_t time) const;
  /// Enqueues what the main thread launched from one recorded time to another. The
  /// loss, and the labels, are those of the whole batch.
  void launch_from_main(int64_t from, int64_t to);
  bool is_of_whole_batch(const Event& op) const;
  /// A call without a line of a source: none was recorded.
  int64_t call(const char* name);
  /// Returns the call of the module that is replicated, in a recorded step.
  const Event& wrapped_call(const ReplicaStep& step) const;
  /// Returns the events of that call, in order.
  std::vector<const Event*> wrapped_events(const ReplicaStep& step) const;
  /// Returns true for a parameter or buffer of that module.
  bool is_wrapped(const std::string& tensor) const;
  /// Returns a step's nodes of the backward pass of that module, in order.
  std::vector<BackwardNode> wrapped_nodes(const ReplicaStep& step) const;
  /// Returns the shape of so many images.
  std::vector<int64_t> shape_of(int64_t images) const;

  void forward();
  int64_t phase(const char* name, Json args = {});
  /// An operation that sends something.
  void send(Thread& thread, const char* op, ProcessProgram::Copy copy,
            const IdList& deps = {});
  void scatter();
  void replicate();
  /// Device 0 sends a group to each other device.
  void send_to_each(const ProcessProgram::Copy& group);
  /// As NCCL broadcasts and reduces: each device hands the group on to the next one of
  /// `along`, in pieces, after the tasks `ready`.
  void hand_on(Thread& thread, const char* name, const ProcessProgram::Copy& group,
               const std::vector<int>& along, IdList ready = {});
  bool uses_nccl() const { return hardware_ != nullptr && hardware_->nccl; }
  /// Repeats the network's forward pass, whose kernels belong to the given phase.
  /// Returns the id of its call.
  int64_t repeat_model(int replica, Thread& thread, int64_t parent);
  /// One thread per replica. They start at once.
  void parallel_apply();
  /// Starts a thread per replica in which `run` writes what it does and returns its
  /// call, and waits for all of them.
  void on_each_replica(const std::function<int64_t(int replica, Thread&)>& run);

  /// The loss of each chunk on its device, and their mean (dp_criterion.cpp).
  void loss_on_each();
  void scatter_targets();
  int64_t criterion(int replica, Thread& thread, int64_t parent);
  /// Repeats an operation of a replica's loss.
  void repeat_loss_op(const Event& op, int replica, Thread& thread);
  /// Adds a scalar of each replica on device 0.
  void add_scalars(const char* why, const char* tensor, bool scaled,
                   const Event* computed);
  void scalar_op(Thread& thread, int device, const char* op, const char* name,
                 const char* phase, int scalars);
  ProcessProgram::Copy scalar_copy(const char* why, const char* tensor,
                                   const char* phase) const;
  /// Returns the id of the node that sends the gradient of the loss to each replica.
  int64_t send_loss_grad(Thread& thread);
  /// Returns the loss phase's first read of a scalar.
  const Event* first_item() const;
  /// Returns true for an event that the main thread of this program does not repeat.
  bool is_replaced(const Event& recorded) const;
  /// What the replicated module returns for so many samples.
  ProcessProgram::Copy output_of(int64_t samples) const;
  /// Device 0's own part is copied by a kernel, for which the others wait.
  void gather();
  /// Device `device` stores an output element by element, as it is sent.
  void make_contiguous(int device, const ProcessProgram::Copy& output);

  /// Repeats what a thread of the backward pass did for a node of the step at `place`
  /// among those of `program_`. If `waits_for` is not empty, the thread waits for that
  /// instead.
  void repeat_node(const BackwardNode& node, int place, int replica, Thread& thread,
                   const IdList& waits_for = {}, bool of_whole_batch = false);
  /// A wait for work of other threads, and the time until the thread goes on: as long
  /// as the recorded thread took to wake up.
  void wait(Thread& thread, const IdList& waits_for, int64_t until);
  void backward();
  /// On one device, the backward pass is the recorded one.
  void repeat_backward(Thread& thread);
  /// What device 0 does before the replicas: the loss, and what follows the replicated
  /// module. Returns the id of the last node.
  int64_t backward_on_first(Thread& thread);
  /// Returns the id of the node that scatters the gradient of the output, which waits
  /// for the node `before`.
  int64_t scatter_grad(Thread& thread, int64_t before);
  /// A wait that is over when it begins.
  void wait_at_once(Thread& thread, const IdList& waits_for);
  void backward_of_network(int replica, Thread& thread, const IdList& scattered);
  /// The node of the broadcast runs when every replica has delivered every gradient.
  void reduce(Thread& thread, int64_t over);
  void reduce_groups(Thread& thread);
  /// Each other device sends a group to device 0, which adds it to its own.
  void add_each(Thread& thread, const ProcessProgram::Copy& group, IdList& ready);
  Json shapes_of_gradients() const;
  /// Returns how long after its threads' last work the recorded wait ended.
  int64_t lag_of_join() const;

  /// Writes what the main thread did as recorded, at its new times.
  void write_main();
  /// At the end of a step, the engine waits for the streams of every device. Returns
  /// how long the waits for the other devices take.
  int64_t synchronize_others();
  void describe(Event& step) const;

  const int devices_;
  const std::string device_type_;
  const Hardware* hardware_;
  const bool loss_on_each_;
  const bool features_;        ///< only these are replicated
  const bool whole_;           ///< and the rest of the step is of the whole batch
  const std::string wrapped_;  ///< the module that is replicated; empty: the network
  ProcessProgram program_;
  const ReplicaStep first_;
  std::vector<ReplicaStep> replicas_;
  std::vector<const Event*> main_events_;  ///< of the main thread, in order
  std::vector<int64_t> chunks_;
  int64_t batch_ = 0;
  Widening widen_{1, 1, 4};
  Thread main_;
  std::vector<std::pair<int64_t, int64_t>> shifts_;
  std::vector<Thread> replica_threads_;
  IdList join_waits_for_;
  int64_t replicate_ = kNone, gather_ = kNone, last_copies_awaited_ = kNone;
};

}  // namespace lockstep::tracer
