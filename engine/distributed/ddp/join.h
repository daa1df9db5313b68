// Join: ranks with different numbers of batches.
#pragma once

#include <memory>

#include "engine/distributed/ddp/distributed_data_parallel.h"

namespace lockstep::distributed {

/// A rank that has run out of batches must keep answering the collectives of those that
/// have not, or they would wait forever. Use:
///
///   Join join(ddp);
///   for (batch : batches) { …ddp(batch)…; backward; step; }
///   join.finish();
///
/// Each forward pass begins by counting the ranks with a batch; in `finish` a rank
/// takes part with zeros until none has. Gradients are divided by the world size
/// throughout, or by the number of ranks with a batch (`divide_by_initial_world_size`
/// false). At the end all models become that of the last rank to finish. Source:
/// torch/distributed/algorithms/join.py. Throws std::runtime_error for a model with
/// SyncBatchNorm.
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
  int authority_ = 0;  ///< the rank that broadcasts buffers: the highest with a batch
};

}  // namespace lockstep::distributed
