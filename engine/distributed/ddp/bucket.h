// A bucket: gradients stored contiguously in one flat tensor and reduced together.
#pragma once

#include <vector>

#include "engine/distributed/ddp/gradient_sync.h"

namespace lockstep::distributed {

class Bucket {
 public:
  /// `members`: indices of the parameters, in their order in the flat tensor.
  Bucket(size_t index, plan::Bucket members, const Parameters& parameters);

  const plan::Bucket& members() const { return members_; }
  int64_t bytes() const { return flat_.nbytes(); }
  const Tensor& flat() const { return flat_; }
  /// Returns a view of the part of the flat tensor that holds the gradient of member i.
  const Tensor& view(size_t i) const { return views_[i]; }

  /// Writes `factor` times `grad` to the view of member i; zeros if `grad` is
  /// undefined.
  void pack(size_t i, const Tensor& grad, double factor);
  /// Copies the view of member i into `grad`.
  void unpack(size_t i, const Tensor& grad) const;
  void fill_with_zeros();

  /// Returns a label such as `bucket 0`, with the names of the parameters. `waits`:
  /// events that the sum must wait for.
  CollectiveLabel label(const Parameters& parameters,
                        std::vector<runtime::EventPtr> waits) const;

 private:
  size_t index_;
  plan::Bucket members_;
  Tensor flat_;
  Tensors views_;
};

/// Returns the parameters' sizes and types as input to engine/plan.
std::vector<plan::BucketItem> bucket_items(const Parameters& parameters);

}  // namespace lockstep::distributed
