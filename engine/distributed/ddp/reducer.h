// PyTorch's reducer: gradients leave in buckets while backward is still computing.
#pragma once

#include <optional>

#include "engine/distributed/ddp/bucket.h"

namespace lockstep::distributed {

/// When the last gradient of a bucket is ready and it is the bucket's turn, its
/// all-reduce starts on the comm stream while backward continues. Buckets are launched
/// strictly in order: ranks with different orders would wait for each other forever.
/// The first step's buckets are a guess; before the second step they are rebuilt, once,
/// in the order in which gradients became ready on rank 0. Source:
/// torch/csrc/distributed/c10d/reducer.cpp (1.13).
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
  /// A bucket and its progress in this step.
  struct Progress {
    Bucket bucket;
    size_t missing = 0;                    ///< gradients that are not ready yet
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

  std::vector<Progress> buckets_;  ///< in order of launch
  std::vector<Place> places_;      ///< by parameter
  size_t next_bucket_ = 0;         ///< the next one to launch

  std::vector<bool> seen_;           ///< in this step, by parameter
  std::vector<size_t> ready_order_;  ///< of the first step
  bool rebuilt_ = false, unfinished_ = false, unused_marked_ = false;
  std::vector<size_t> unused_;       ///< found by walking the graph
  std::vector<bool> used_;           ///< here, by parameter: its hook was called
  std::vector<bool> used_anywhere_;  ///< the same over all ranks
};

}  // namespace lockstep::distributed
