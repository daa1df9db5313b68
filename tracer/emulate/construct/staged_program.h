// One step of a pipeline, in the order of parallel::PipelineModel::run: one host thread
// enqueues the actions of all devices.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tracer/emulate/construct/construct.h"
#include "tracer/emulate/construct/process_program.h"
#include "tracer/emulate/construct/stage_parts.h"

namespace lockstep::tracer {

class StagedProgram {
 public:
  /// `steps`: what is repeated for each micro-batch; they must outlive this object, as
  /// must `pipeline`. Throws as stage_parts() does.
  StagedProgram(const std::vector<const RecordedStep*>& steps,
                const ConstructedPipeline& pipeline, std::string device_type);

  /// Returns all events of the step. May be called once.
  std::vector<Event> run();

  int64_t batch() const { return batch_; }

 private:
  using Thread = ProcessProgram::Thread;
  using Key = std::pair<int, int>;  ///< stage, micro-batch

  const ReplicaStep& recorded() const { return steps_[0]; }
  const StagePart& part(const plan::PipelineAction& action) const {
    return parts_[action.micro_batch][action.stage];
  }
  int last_stage() const { return static_cast<int>(rank_of_stage_.size()) - 1; }
  int device_of(int stage) const { return rank_of_stage_[stage]; }

  /// The whole batch goes to the first stage's device, all labels to the last's.
  void load_batch();
  void forward_pass(const plan::PipelineAction& action);
  /// The loss of a micro-batch, and its share of the step's loss and accuracies.
  void loss_of(int micro_batch);
  void backward_pass(const plan::PipelineAction& action);
  /// What the thread of a device does in a backward pass. Returns its last operation.
  int64_t run_nodes(const plan::PipelineAction& action, int64_t call,
                    const IdList& begins_after);
  /// A gradient is added to the one of the micro-batches before it.
  void add_gradient(const BackwardNode& node, const plan::PipelineAction& action,
                    Thread& thread);
  /// Each device updates its own parameters.
  void update();
  /// The host reads the loss and the accuracies, and waits for all devices.
  void finish();
  void describe(Event& step) const;

  int64_t open_action(const plan::PipelineAction& action, const char* phase);
  /// Sends the input of a stage, or its gradient, over the border before the stage.
  void send_over(int border, const plan::PipelineAction& action, const char* why);
  /// The host enqueues something small: an operation with one kernel.
  void small_op(Thread& thread, const char* op, ProcessProgram::Kernel kernel,
                Json shapes);
  void wait_for(Thread& thread, const IdList& awaited, const char* name,
                const char* why, int64_t parent);
  Thread& autograd_thread(int device);

  const ConstructedPipeline& pipeline_;
  const std::string device_type_;
  ProcessProgram program_;
  std::vector<ReplicaStep> steps_;             ///< by micro-batch
  std::vector<std::vector<StagePart>> parts_;  ///< by micro-batch and stage
  std::vector<int> rank_of_stage_;
  int64_t batch_ = 0, scalar_ = 4;
  bool blocked_layout_ = false;  ///< tensors are made contiguous before they are sent
  Thread main_;
  std::map<int, Thread> autograd_;  ///< by device
  /// What a stage has been sent: the copy that the action waits for.
  std::map<Key, int64_t> inputs_, gradients_;
  std::vector<bool> has_gradient_;  ///< by parameter
  int64_t before_ = kNone;          ///< the last event of the main thread
};

}  // namespace lockstep::tracer
