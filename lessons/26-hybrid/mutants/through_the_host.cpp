// rejected by: each_once
// because: the host would wait for each device
//
// The misconception: what goes to another device goes through the host.

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
    const Tensor here =
        ops::copy_to(outputs[i].detach(), kHost, {"activation", "output"});
    ops::copy_into(here, joined.narrowed(first, rows[i]),
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
          pieces.push_back(ops::copy_to(grad.narrowed(first, rows[i]), devices[i],
                                        {"activation_grad", "output"}));
          first += rows[i];
        }
        return pieces;
      });
  return joined;
// [/solution-gather]
