// rejected by: back
// because: the last chunk is smaller
//
// The misconception: every chunk is as large as the first.

// [solution-gather]
  Shape sizes = outputs[0].sizes();
  sizes[0] = 0;
  std::vector<int64_t> rows;
  Devices devices;
  for (const Tensor& output : outputs) {
    rows.push_back(output.size(0));
    devices.push_back(output.device());
    sizes[0] += output.size(0);
  }
  const Tensor joined = Tensor::empty({sizes, outputs[0].dtype(), nullptr}, classifier);
  int64_t first = 0;
  for (size_t i = 0; i < outputs.size(); ++i) {
    ops::copy_into(outputs[i].detach(), joined.narrowed(first, rows[i]),
                   {"activation", "output"});
    first += rows[i];
  }
  autograd::set_history(
      "GatherBackward", outputs, {joined}, tracer::innermost_event(),
      [rows, devices](Tensors grads) {
        const Tensor grad = ops::contiguous(grads[0]);
        Tensors pieces;
        int64_t first = 0;
        for (size_t i = 0; i < rows.size(); ++i) {
          pieces.push_back(ops::copy_to(grad.narrowed(first, rows[0]), devices[i],
                                        {"activation_grad", "output"}));
          first += rows[i];
        }
        return pieces;
      });
  return joined;
// [/solution-gather]
