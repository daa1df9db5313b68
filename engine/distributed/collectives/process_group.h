// Process groups: collectives of tensors.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/distributed/collectives/communicator.h"
#include "engine/runtime/stream.h"
#include "engine/tensor/tensor.h"

namespace lockstep::distributed {

/// A collective that has been enqueued (torch.distributed.Work). Copies share the work.
class Work {
 public:
  Work() = default;
  Work(runtime::EventPtr done, Device device)
      : done_(std::move(done)), device_(device) {}

  /// Makes the device's compute stream wait for the collective; the host does not wait
  /// (as with NCCL).
  void wait() const;
  /// Blocks the host until the collective is done. Rethrows a failure.
  void synchronize() const;
  bool is_completed() const { return done_->done(); }

 private:
  runtime::EventPtr done_;
  Device device_;
};

/// What a collective is for, in error messages and in the trace.
struct CollectiveLabel {
  const char* why = nullptr;  ///< default: the collective's name
  std::string tensor = {};    ///< `bucket 0`, `buffers`
  int64_t bucket = -1;
  std::vector<std::string> params = {};  ///< names of the parameters in it
  /// Events that the collective waits for, besides the compute stream's work so far.
  /// Each is one of its `deps` in the trace.
  std::vector<runtime::EventPtr> after = {};
};

/// The ranks of a group as seen by one of them. A collective is a task of the tensor's
/// comm stream: the call returns at once, and failures poison the device, so that the
/// next wait throws. Every rank must make the same calls in the same order. Used by one
/// rank's threads, one at a time.
/// Source: torch/csrc/distributed/c10d/ProcessGroup.hpp.
class ProcessGroup {
 public:
  explicit ProcessGroup(std::unique_ptr<Communicator> communicator,
                        std::string name = "default");

  int rank() const { return shared_->communicator->rank(); }
  int size() const { return shared_->communicator->size(); }
  const std::string& name() const { return name_; }
  Communicator& communicator() const { return *shared_->communicator; }

  /// Replaces `tensor` by its sum (minimum, maximum) over all ranks, in place.
  Work all_reduce(const Tensor& tensor, ReduceOp op = ReduceOp::sum,
                  CollectiveLabel label = {});
  /// Replaces `tensor` by the root's, in place.
  Work broadcast(const Tensor& tensor, int root, CollectiveLabel label = {});
  /// Replaces the root's tensor by the sum over all ranks; the others' stay as they
  /// are.
  Work reduce(const Tensor& tensor, int root, ReduceOp op = ReduceOp::sum,
              CollectiveLabel label = {});
  /// `output` has size() times the elements of `input`, in order of rank.
  Work all_gather(const Tensor& output, const Tensor& input,
                  CollectiveLabel label = {});
  /// `input` has size() times the elements of `output`.
  Work reduce_scatter(const Tensor& output, const Tensor& input,
                      ReduceOp op = ReduceOp::sum, CollectiveLabel label = {});
  Work send(const Tensor& tensor, int to, CollectiveLabel label = {});
  Work recv(const Tensor& tensor, int from, CollectiveLabel label = {});
  /// Returns when every rank has called it.
  void barrier(Device device);

  /// Returns number and description of the collective that runs, or ran last: 7 and
  /// `all_reduce #7 (bucket 0, 400 B)`. Thread-safe.
  std::pair<int64_t, std::string> last_call() const;

 private:
  using Run = std::function<void(Communicator&, const Collective&)>;
  Work enqueue(const char* collective, const char* op_name, const Tensors& tensors,
               CollectiveLabel label, Run run, int64_t pair_seq = -1);

  /// What a collective needs until it has run, even if the group is destroyed before.
  struct Shared {
    std::unique_ptr<Communicator> communicator;
    std::mutex mutex;
    std::pair<int64_t, std::string> last_call{-1, "no collective"};
  };

  std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
  std::string name_;
  int64_t next_seq_ = 0;
  std::map<int, int64_t> sent_, received_;  ///< a pair of ranks counts on its own
};

}  // namespace lockstep::distributed
