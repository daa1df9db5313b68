#include "engine/distributed/ddp/join.h"

#include <stdexcept>

#include "engine/distributed/collectives/small_collectives.h"
#include "engine/nn/layers.h"

namespace lockstep::distributed {

Join::Join(DistributedDataParallel& ddp, bool divide_by_initial_world_size)
    : ddp_(ddp), divide_by_initial_(divide_by_initial_world_size) {
  if (nn::has_sync_batchnorm(*ddp.module())) {
    throw std::runtime_error(
        "Join: the model has SyncBatchNorm layers, which call collectives in forward; "
        "a rank without a batch could not take part in them");
  }
  ddp_.join_ = this;
}

Join::~Join() {
  if (ddp_.join_ == this) ddp_.join_ = nullptr;
  ddp_.sync_->set_divisor(ddp_.group_->size());
}

void Join::before_forward() { count_active(true); }

/// Counts the ranks that still have a batch, using one small all-reduce per step.
int Join::count_active(bool me) {
  std::vector<int64_t> active(ddp_.group_->size(), 0);
  active[ddp_.group_->rank()] = me ? 1 : 0;
  active = sum_integers(*ddp_.group_, ddp_.device_, active, "join");
  int count = 0;
  for (int r = 0; r < ddp_.group_->size(); ++r) {
    if (active[r] == 0) continue;
    ++count;
    authority_ = r;
  }
  ddp_.sync_->set_divisor(divide_by_initial_ || count == 0 ? ddp_.group_->size()
                                                           : count);
  return count;
}

void Join::finish() {
  while (count_active(false) > 0) {
    ddp_.sync_->before_forward();
    ddp_.broadcast_buffers_if_due();
    ddp_.sync_->shadow_step();
  }
  Tensors state = ddp_.module_->parameters();
  for (const Tensor& buffer : ddp_.module_->buffers()) state.push_back(buffer);
  ddp_.broadcast_from(authority_, state, "join");
}

}  // namespace lockstep::distributed
