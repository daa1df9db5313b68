#include "engine/sharing/gather_held.h"

#include "engine/autograd/node.h"
#include "engine/distributed/collectives/small_collectives.h"
#include "engine/ops/copy.h"
#include "engine/ops/ops.h"

namespace lockstep::sharing {
namespace {

constexpr const char* kWhy = "collect";

/// Returns the rank that holds tensor i; −1 if none does.
int holder_of(const std::vector<std::vector<int64_t>>& held, size_t i) {
  for (size_t rank = 0; rank < held.size(); ++rank) {
    if (held[rank][i] != 0) return static_cast<int>(rank);
  }
  return -1;
}

}  // namespace

Tensors gather_held(distributed::ProcessGroup& group, Device device,
                    const std::vector<TensorSpec>& specs, const Tensors& held) {
  if (!computes(device.type)) return group.rank() == 0 ? held : Tensors();
  const autograd::NoGrad no_grad;
  const CategoryScope category(MemoryCategory::other);
  std::vector<int64_t> mine;
  for (const Tensor& tensor : held) mine.push_back(tensor.defined());
  const auto by_rank = distributed::gather_integers(group, device, mine, kWhy);
  const int64_t first = group.reserve(static_cast<int64_t>(specs.size()));
  Tensors all = held;
  for (size_t i = 0; i < specs.size(); ++i) {
    const int holder = holder_of(by_rank, i);
    if (holder <= 0) continue;
    distributed::CollectiveLabel label;
    label.why = kWhy;
    label.tensor = "tensor " + std::to_string(i);
    label.seq = first + static_cast<int64_t>(i);
    if (group.rank() == holder) {
      const Tensor sent = ops::copy_to(held[i].detach(), device, {kWhy, "tensor"});
      group.send(ops::contiguous(sent), 0, label);
    } else if (group.rank() == 0) {
      const Tensor received =
          Tensor::empty(TensorSpec{specs[i].sizes, specs[i].dtype, nullptr}, device);
      group.recv(received, holder, label).wait();
      all[i] = ops::copy_to(received, kHost, {kWhy, "tensor"});
    }
  }
  return group.rank() == 0 ? all : Tensors();
}

}  // namespace lockstep::sharing
