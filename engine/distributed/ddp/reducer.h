// PyTorch's reducer: buckets of gradients are all-reduced while backward is running.
#pragma once

#include <optional>

#include "engine/distributed/ddp/bucket.h"

namespace lockstep::distributed {

/// Starts a bucket's all-reduce on the comm stream as soon as its last gradient is
/// ready and all preceding buckets have been launched; backward continues in the
/// meantime. Buckets are always launched in the same order: ranks with different orders
/// would wait for each other forever. The buckets of the first step are a guess; they
/// are rebuilt once, before the second step, in the order in which gradients became
/// ready on rank 0. Source: torch/csrc/distributed/c10d/reducer.cpp (1.13).
class Reducer : public GradientSync {
 public:
  Reducer(Parameters parameters, ProcessGroup& group, ReducerOptions options);

  void before_forward() override;
  void before_backward(const Tensor& output) override;
  void gradient_ready(size_t parameter) override;
  void after_backward() override;
  void shadow_step() override;
  void set_divisor(int divisor) override { divisor_ = divisor; }
  std::vector<size_t> ready_order() const override { return ready_order_; }
  void set_ready_order(const std::vector<size_t>& order) override;

 private:
  /// A bucket and its progress in the current step.
  struct Progress {
    Bucket bucket;
    size_t missing = 0;                    ///< number of gradients not ready yet
    std::vector<runtime::EventPtr> ready;  ///< events that the all-reduce waits for
    Work work;
  };
  struct Place {
    size_t bucket, member;
  };

  void build(const std::vector<plan::Bucket>& buckets);
  void rebuild();
  void check_finished() const;
  void begin_step();
  void mark_ready(size_t parameter);
  void launch_next_buckets();
  void launch(Progress& progress);
  void finish(Progress& progress);
  void share_used_map();

  const Parameters parameters_;
  ProcessGroup& group_;
  const ReducerOptions options_;
  int divisor_;

  std::vector<Progress> buckets_;  ///< in launch order
  std::vector<Place> places_;      ///< indexed by parameter
  size_t next_bucket_ = 0;         ///< the next bucket to launch

  std::vector<bool> seen_;           ///< in the current step, indexed by parameter
  std::vector<size_t> ready_order_;  ///< recorded in the first step
  bool rebuilt_ = false, unfinished_ = false, unused_marked_ = false;
  std::vector<size_t> unused_;       ///< parameters that the graph does not reach
  std::vector<bool> used_;           ///< on this rank, by parameter: its hook ran
  std::vector<bool> used_anywhere_;  ///< the same, on any rank
};

}  // namespace lockstep::distributed
