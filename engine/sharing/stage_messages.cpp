#include "engine/sharing/stage_messages.h"

#include "engine/ops/ops.h"
#include "engine/runtime/device_context.h"

namespace lockstep::sharing {
namespace {

distributed::CollectiveLabel label_of(const ops::CopyLabel& label, int64_t number) {
  distributed::CollectiveLabel of;
  of.why = label.why;
  of.tensor = label.tensor;
  of.stage = label.stage;
  of.micro_batch = label.micro_batch;
  of.seq = number;
  return of;
}

}  // namespace

void StageMessages::send(const Tensor& x, int to, const ops::CopyLabel& label,
                         int64_t number) {
  group_->send(ops::contiguous(x), to, label_of(label, first_ + number));
}

ops::Arriving StageMessages::receive(const TensorSpec& plain, int from,
                                     const ops::CopyLabel& label, int64_t number) {
  runtime::DeviceContext& device = runtime::context(device_);
  const auto bytes = plain.sizes.numel() * static_cast<int64_t>(item_size(plain.dtype));
  auto memory = std::make_shared<Storage>(device_, bytes, CategoryScope::current(),
                                          device.comm());
  memory->record_stream(device.compute());
  const Tensor tensor(memory, 0, plain);
  auto of = label_of(label, first_ + number);
  of.fresh = true;
  return {tensor, group_->recv(tensor, from, std::move(of)).done()};
}

}  // namespace lockstep::sharing
