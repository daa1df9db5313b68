// Scatter splits the batch and sends the chunks. Gather receives and joins the outputs.
// Each is the gradient of the other. Source: torch/nn/parallel/_functions.py.
#include <stdexcept>

#include "engine/autograd/node.h"
#include "engine/ops/copy.h"
#include "engine/ops/op_call.h"
#include "engine/ops/ops.h"
#include "engine/parallel/primitives.h"
#include "engine/plan/chunk.h"

namespace lockstep::parallel {

std::vector<Tensor> scatter(const Tensor& input, const Devices& devices) {
  std::vector<Tensor> chunks;
  int64_t start = 0;
  for (int64_t size : plan::chunk_sizes(input.size(0), devices.size())) {
    const Tensor piece = input.narrowed(start, size);
    chunks.push_back(
        ops::copy_to(piece, devices[chunks.size()], {"scatter", "images"}));
    start += size;
  }
  // Inside a network the input requires a gradient: the concatenated chunk gradients.
  autograd::set_history(
      "ScatterBackward", {input}, chunks, tracer::innermost_event(),
      [to = input.device()](Tensors grads) -> Tensors { return {gather(grads, to)}; });
  return chunks;
}

Tensor gather(const std::vector<Tensor>& outputs, Device to) {
  Shape sizes = outputs[0].sizes();
  sizes[0] = 0;
  for (const Tensor& output : outputs) sizes[0] += output.size(0);
  Tensor joined = Tensor::empty({sizes, outputs[0].dtype(), nullptr}, to);
  std::vector<int64_t> rows;
  int64_t start = 0;
  for (const Tensor& output : outputs) {
    rows.push_back(output.size(0));
    ops::copy_into(output.detach(), joined.narrowed(start, output.size(0)),
                   {"gather", "output"});
    start += output.size(0);
  }

  Devices devices;
  for (const Tensor& output : outputs) devices.push_back(output.device());
  autograd::set_history(
      "GatherBackward", outputs, {joined}, tracer::innermost_event(),
      [=](Tensors grads) {
        const Tensor grad = ops::contiguous(grads[0]);
        Tensors pieces;
        int64_t from = 0;
        for (size_t i = 0; i < devices.size(); ++i) {
          pieces.push_back(ops::copy_to(grad.narrowed(from, rows[i]), devices[i],
                                        {"grad_scatter", "output"}));
          from += rows[i];
        }
        return pieces;
      });
  return joined;
}

namespace {

/// Returns the dim counted from 0.
int checked_dim(int dim, int64_t rank) {
  if (dim >= -rank && dim < rank) return static_cast<int>(dim < 0 ? dim + rank : dim);
  throw std::runtime_error("Dimension out of range (expected to be in range of [" +
                           std::to_string(-rank) + ", " + std::to_string(rank - 1) +
                           "], but got " + std::to_string(dim) + ")");
}

}  // namespace

std::vector<Tensor> scatter_along(int dim, const Tensor& input,
                                  const Devices& devices) {
  const int64_t rank = input.dim(), front = checked_dim(dim, rank);
  if (front == 0) return primitives().scatter(input, devices);
  std::vector<Tensor> chunks =
      primitives().scatter(ops::rotate_dims(input, front), devices);
  for (Tensor& chunk : chunks) chunk = ops::rotate_dims(chunk, rank - front);
  return chunks;
}

Tensor gather_along(int dim, const std::vector<Tensor>& outputs, Device to) {
  const int64_t rank = outputs[0].dim(), front = checked_dim(dim, rank);
  if (front == 0) return primitives().gather(outputs, to);
  std::vector<Tensor> rotated;
  for (const Tensor& output : outputs) {
    rotated.push_back(ops::rotate_dims(output, front));
  }
  return ops::rotate_dims(primitives().gather(rotated, to), rank - front);
}

}  // namespace lockstep::parallel
