// Process groups: collectives on tensors.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <source_location>
#include <string>
#include <vector>

#include "engine/distributed/collectives/communicator.h"
#include "engine/runtime/stream.h"
#include "engine/tensor/tensor.h"

namespace lockstep::distributed {

/// An enqueued collective (torch.distributed.Work). Copies refer to the same one.
class Work {
 public:
  Work() = default;
  Work(runtime::EventPtr done, Device device)
      : done_(std::move(done)), device_(device) {}

  /// Makes the device's compute stream wait for the collective. Does not block the host
  /// (as with NCCL).
  void wait() const;
  /// Blocks the host until the collective has finished. Rethrows its failure.
  void synchronize() const;
  bool is_completed() const { return done_->done(); }
  /// Returns the event of its end.
  const runtime::EventPtr& done() const { return done_; }

 private:
  runtime::EventPtr done_;
  Device device_;
};

/// Describes the purpose of a collective, for error messages and the trace.
struct CollectiveLabel {
  const char* why = nullptr;  ///< the collective's name by default
  std::string tensor = {};    ///< `bucket 0`, `buffers`
  int64_t bucket = -1;
  std::vector<std::string> params = {};  ///< names of the parameters in the tensor
  /// Events that the collective waits for, in addition to all work already enqueued on
  /// the compute stream. Recorded as the collective's `deps` in the trace.
  std::vector<runtime::EventPtr> after = {};
  int stage = -1, micro_batch = -1;  ///< of the receiver, in a pipeline
  /// Of a send or receive: its number, from reserve(). By default, it is counted for
  /// each pair of ranks.
  int64_t seq = -1;
  /// Of a receive: the tensor is new memory of the comm stream, so that no earlier work
  /// needs to be waited for.
  bool fresh = false;
};

/// A group of ranks, as seen by one of them. A collective is a task on the comm stream
/// of the tensor's device: the call returns immediately, and a failure poisons the
/// device so that the next wait throws. Every rank must make the same calls in the same
/// order. May be used by one thread of the rank at a time. `site` is the call site that
/// traces show.
/// Source: torch/csrc/distributed/c10d/ProcessGroup.hpp.
class ProcessGroup {
 public:
  using Site = std::source_location;

  explicit ProcessGroup(std::unique_ptr<Communicator> communicator,
                        std::string name = "default");

  int rank() const { return shared_->communicator->rank(); }
  int size() const { return shared_->communicator->size(); }
  const std::string& name() const { return name_; }
  Communicator& communicator() const { return *shared_->communicator; }

  /// Replaces `tensor` in place with its sum (minimum, maximum) over all ranks.
  Work all_reduce(const Tensor& tensor, ReduceOp op = ReduceOp::sum,
                  CollectiveLabel label = {}, Site site = Site::current());
  /// Replaces `tensor` in place with the root's tensor.
  Work broadcast(const Tensor& tensor, int root, CollectiveLabel label = {},
                 Site site = Site::current());
  /// Replaces the root's tensor with the sum (minimum, maximum) over all ranks; the
  /// other ranks' tensors are unchanged.
  Work reduce(const Tensor& tensor, int root, ReduceOp op = ReduceOp::sum,
              CollectiveLabel label = {}, Site site = Site::current());
  /// `output` has size() times as many elements as `input`, ordered by rank.
  Work all_gather(const Tensor& output, const Tensor& input, CollectiveLabel label = {},
                  Site site = Site::current());
  /// `input` has size() times as many elements as `output`.
  Work reduce_scatter(const Tensor& output, const Tensor& input,
                      ReduceOp op = ReduceOp::sum, CollectiveLabel label = {},
                      Site site = Site::current());
  Work send(const Tensor& tensor, int to, CollectiveLabel label = {},
            Site site = Site::current());
  Work recv(const Tensor& tensor, int from, CollectiveLabel label = {},
            Site site = Site::current());
  /// Returns the first of `count` consecutive numbers for messages, each of which
  /// concerns two ranks. Every rank must call it with the same count.
  int64_t reserve(int64_t count);
  /// Blocks until every rank has called it.
  void barrier(Device device);

  /// Returns the number and a description of the current or most recent collective,
  /// e.g. 7 and `all_reduce #7 (bucket 0, 400 B)`. Thread-safe.
  std::pair<int64_t, std::string> last_call() const;

 private:
  using Run = std::function<void(Communicator&, const Collective&)>;
  Work enqueue(const char* collective, const char* op_name, const Tensors& tensors,
               CollectiveLabel label, const Site& site, Run run);
  /// Returns the label with a number.
  static CollectiveLabel numbered(CollectiveLabel label, int64_t& pair);

  /// State that a collective needs until it has run, even if the group is destroyed.
  struct Shared {
    std::unique_ptr<Communicator> communicator;
    std::mutex mutex;
    std::pair<int64_t, std::string> last_call{-1, "no collective"};
  };

  std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
  std::string name_;
  int64_t next_seq_ = 0;
  std::map<int, int64_t> sent_, received_;  ///< each pair of ranks has its own count
};

}  // namespace lockstep::distributed
