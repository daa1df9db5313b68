// Join: support for ranks with different numbers of batches.
#pragma once

#include <memory>

#include "engine/distributed/ddp/distributed_data_parallel.h"

namespace lockstep::distributed {

/// A rank that has run out of batches must keep participating in the collectives of the
/// other ranks, which would otherwise wait forever. Usage:
///
///   Join join(ddp);
///   for (batch : batches) { …ddp(batch)…; backward; step; }
///   join.finish();
///
/// Each forward pass starts by counting the ranks with a batch; `finish` participates
/// with zeros until no rank has one. Gradients are divided by the world size throughout
/// or, if `divide_by_initial_world_size` is false, by the number of ranks with a batch.
/// At the end, all ranks receive the model of the last rank to finish. Source:
/// torch/distributed/algorithms/join.py. Throws std::runtime_error if the model has
/// SyncBatchNorm layers.
class Join {
 public:
  explicit Join(DistributedDataParallel& ddp, bool divide_by_initial_world_size = true);
  ~Join();
  Join(const Join&) = delete;
  Join& operator=(const Join&) = delete;

  void finish();

 private:
  friend class DistributedDataParallel;
  void before_forward();
  int authority() const { return authority_; }
  int count_active(bool me);

  DistributedDataParallel& ddp_;
  const bool divide_by_initial_;
  int authority_ = 0;  ///< rank that broadcasts buffers: the highest with a batch
};

}  // namespace lockstep::distributed
