// Scatter splits the batch and sends the chunks. Gather receives and joins the outputs.
// Each is the gradient of the other. Source: torch/nn/parallel/_functions.py.
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

}  // namespace lockstep::parallel
