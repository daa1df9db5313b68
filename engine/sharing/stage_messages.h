// Messages between the stages of a pipeline whose ranks are processes.
#pragma once

#include <memory>

#include "engine/distributed/collectives/process_group.h"
#include "engine/parallel/stage_links.h"

namespace lockstep::sharing {

/// Sends and receives of the process group: they run on the comm stream.
class StageMessages : public parallel::StageLinks {
 public:
  /// `device` is this rank's.
  StageMessages(std::shared_ptr<distributed::ProcessGroup> group, Device device)
      : group_(std::move(group)), device_(device) {}

  int rank() const override { return group_->rank(); }
  int ranks() const override { return group_->size(); }
  void begin(int64_t messages) override { first_ = group_->reserve(messages); }
  void send(const Tensor& x, int to, const ops::CopyLabel& label,
            int64_t number) override;
  ops::Arriving receive(const TensorSpec& plain, int from, const ops::CopyLabel& label,
                        int64_t number) override;

 private:
  const std::shared_ptr<distributed::ProcessGroup> group_;
  const Device device_;
  int64_t first_ = 0;  ///< number of the batch's first message
};

}  // namespace lockstep::sharing
