#include "engine/distributed/ddp/bucket.h"

#include "engine/ops/op_call.h"
#include "engine/ops/ops.h"

namespace lockstep::distributed {

Bucket::Bucket(size_t index, plan::Bucket members, const Parameters& parameters)
    : index_(index), members_(std::move(members)) {
  int64_t numel = 0;
  for (size_t member : members_) numel += parameters[member].value.numel();
  const Tensor& first = parameters[members_[0]].value;
  flat_ = Tensor::empty({{numel}, first.dtype(), nullptr}, first.device(),
                        MemoryCategory::buckets);
  int64_t start = 0;
  for (size_t member : members_) {
    const Tensor& parameter = parameters[member].value;
    views_.push_back(
        flat_.narrowed(start, parameter.numel()).reshaped(parameter.sizes()));
    start += parameter.numel();
  }
}

void Bucket::pack(size_t i, const Tensor& grad, double factor) {
  ops::OpCall op("aten::mul", {grad.defined() ? grad : views_[i]},
                 std::source_location::current());
  if (grad.defined()) {
    ops::compute_into(OpCode::scale, {ops::contiguous(grad)}, {views_[i]}, {},
                      {factor});
  } else {
    ops::compute_into(OpCode::fill, {}, {views_[i]}, {}, {0});
  }
}

void Bucket::unpack(size_t i, const Tensor& grad) const {
  ops::OpCall op("aten::copy_", {grad}, std::source_location::current());
  ops::compute_into(OpCode::copy, {views_[i]}, {grad});
}

void Bucket::fill_with_zeros() {
  ops::OpCall op("aten::zero_", {flat_}, std::source_location::current());
  ops::compute_into(OpCode::fill, {}, {flat_}, {}, {0});
}

CollectiveLabel Bucket::label(const Parameters& parameters,
                              std::vector<runtime::EventPtr> waits) const {
  CollectiveLabel label;
  label.tensor = "bucket " + std::to_string(index_);
  label.bucket = static_cast<int64_t>(index_);
  label.after = std::move(waits);
  for (size_t member : members_) label.params.push_back(parameters[member].name);
  return label;
}

std::vector<plan::BucketItem> bucket_items(const Parameters& parameters) {
  std::vector<plan::BucketItem> items;
  for (const auto& [name, tensor] : parameters) {
    items.push_back({tensor.nbytes(), static_cast<int>(tensor.dtype())});
  }
  return items;
}

}  // namespace lockstep::distributed
