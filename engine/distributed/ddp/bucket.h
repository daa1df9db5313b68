// A bucket: gradients side by side in one flat tensor, reduced together.
#pragma once

#include <vector>

#include "engine/distributed/ddp/gradient_sync.h"

namespace lockstep::distributed {

class Bucket {
 public:
  /// `members`: numbers of the parameters, in their order in the flat tensor.
  Bucket(size_t index, plan::Bucket members, const Parameters& parameters);

  const plan::Bucket& members() const { return members_; }
  int64_t bytes() const { return flat_.nbytes(); }
  const Tensor& flat() const { return flat_; }
  /// Returns the part of the flat tensor that holds member i's gradient.
  const Tensor& view(size_t i) const { return views_[i]; }

  /// Writes `grad` times `factor` into member i's place. Undefined stands for zero.
  void pack(size_t i, const Tensor& grad, double factor);
  /// Copies member i's place into `grad`.
  void unpack(size_t i, const Tensor& grad) const;
  void fill_with_zeros();

  /// Returns `bucket 0` and its parameters' names. `waits`: what the sum must wait for.
  CollectiveLabel label(const Parameters& parameters,
                        std::vector<runtime::EventPtr> waits) const;

 private:
  size_t index_;
  plan::Bucket members_;
  Tensor flat_;
  Tensors views_;
};

/// Returns the parameters' sizes for the rules of engine/plan.
std::vector<plan::BucketItem> bucket_items(const Parameters& parameters);

}  // namespace lockstep::distributed
