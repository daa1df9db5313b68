#include "engine/optim/clip_grad_norm.h"

#include <algorithm>
#include <cmath>

#include "engine/autograd/node.h"
#include "engine/ops/copy.h"
#include "engine/ops/op_call.h"
#include "engine/ops/ops.h"

namespace lockstep::optim {
namespace {

/// The squared norm of a vector is computed as a 1×1 matrix: linear(v, v) = v vᵀ. Long
/// vectors are processed in pieces, since a backend may copy the weights.
constexpr int64_t kPiece = int64_t{1} << 22;

void add_squares(const Tensor& gradient, Tensors& sums, std::source_location site) {
  const Tensor flat = ops::contiguous(gradient, site).reshaped({gradient.numel()});
  for (int64_t start = 0; start < flat.numel(); start += kPiece) {
    const int64_t length = std::min(kPiece, flat.numel() - start);
    const Tensor row = flat.narrowed(start, length).reshaped({1, length});
    sums.push_back(ops::linear(row, row, {}, site).reshaped({1}));
  }
}

/// Appends zeros in place of the squares of a gradient that another rank has.
void add_zeros(const Tensor& parameter, Device device, Tensors& sums,
               std::source_location site) {
  const int64_t pieces = (parameter.numel() + kPiece - 1) / kPiece;
  sums.push_back(
      ops::full_like(Tensor::empty({pieces}, device, parameter.dtype()), 0, site));
}

/// Returns the device of the first gradient; the host if there is none.
Device device_of_gradients(const Tensors& parameters) {
  for (const Tensor& parameter : parameters) {
    if (parameter.grad().defined()) return parameter.device();
  }
  return kHost;
}

/// Returns all entries in one row on the device of the first. The entries of each other
/// device are sent together.
Tensor on_one_device(const Tensors& entries, std::source_location site) {
  Tensors rows;
  for (size_t first = 0, last = 0; first < entries.size(); first = last) {
    const Device device = entries[first].device();
    Tensors same;
    while (last < entries.size() && entries[last].device() == device) {
      same.push_back(entries[last++]);
    }
    rows.push_back(ops::copy_to(ops::cat(same, site), entries[0].device(),
                                {"metrics", "norm"}, site));
  }
  return rows.size() == 1 ? rows[0] : ops::cat(rows, site);
}

}  // namespace

double clip_grad_norm_(const Tensors& parameters, double max_norm,
                       const SumOverRanks& ranks, std::source_location site) {
  autograd::NoGrad no_grad;
  CategoryScope category(MemoryCategory::workspace);
  const Device device = ranks.add ? ranks.device : device_of_gradients(parameters);
  if (device.is_host()) return 0;
  Tensors sums;
  for (const Tensor& parameter : parameters) {
    if (parameter.grad().defined()) {
      add_squares(parameter.grad().detach(), sums, site);
    } else if (ranks.add) {
      add_zeros(parameter, device, sums, site);
    }
  }
  const Tensor flat = on_one_device(sums, site);
  if (ranks.add) ranks.add(flat);
  const Tensor row = flat.reshaped({1, flat.numel()});
  const Tensor ones = ops::full_like(row, 1, site);
  const double norm = std::sqrt(ops::item(ops::linear(row, ones, {}, site)));
  scale_to_norm_(parameters, norm, max_norm, site);
  return norm;
}

void scale_to_norm_(const Tensors& parameters, double norm, double max_norm,
                    std::source_location site) {
  const double factor = max_norm / (norm + 1e-6);
  if (factor >= 1) return;
  for (const Tensor& parameter : parameters) {
    if (!parameter.grad().defined()) continue;
    const Tensor gradient = parameter.grad().detach();
    ops::OpCall op("aten::_foreach_mul_", {gradient}, site);
    ops::compute_into(OpCode::scale, {gradient}, {gradient}, {}, {factor});
  }
}

}  // namespace lockstep::optim
